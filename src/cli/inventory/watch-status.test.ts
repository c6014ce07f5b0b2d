import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testCloud, createVmRequest, namespace } from '../../cpi/testing/test-cloud.ts';
import { createDisk } from '../../cpi/disk/create-disk.ts';
import { deleteDisk } from '../../cpi/disk/delete-disk.ts';
import { createVm } from '../../cpi/vm/create-vm.ts';
import { setVmMetadata } from '../../cpi/vm/set-vm-metadata.ts';
import type {
  KubernetesApi,
  ObjectReference,
  WatchEvent,
  WatchQuery,
  Resource,
} from '../../kubernetes/api.ts';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesObject, Status } from '../../kubernetes/object.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../../../test/support/until.ts';
import { recordOutput } from '../testing/record-output.ts';
import type { Display } from '../output/display.ts';
import { textOf } from '../output/table.ts';
import { watchStatus } from './watch-status.ts';

/** An API server that can be stopped and started: requests fail, and open watches end. */
function restartableApi(api: KubernetesApi) {
  let stopped = new AbortController();
  const isDown = (): boolean => stopped.signal.aborted;
  async function* watch<T extends KubernetesObject>(
    resource: Resource,
    query: WatchQuery = {},
  ): AsyncIterable<WatchEvent<T>> {
    if (isDown()) throw new Error('connect ECONNREFUSED');
    const signals = [stopped.signal, ...(query.signal === undefined ? [] : [query.signal])];
    yield* api.watch<T>(resource, { ...query, signal: AbortSignal.any(signals) });
  }
  const restartable: KubernetesApi = Object.assign(Object.create(api) as KubernetesApi, {
    watch,
    get: (reference: ObjectReference) => api.get(reference),
    list: async (...args: Parameters<KubernetesApi['list']>) => {
      if (isDown()) throw new Error('connect ECONNREFUSED');
      return api.list(...args);
    },
  });
  return {
    api: restartable,
    stop: () => stopped.abort(),
    start: () => void (stopped = new AbortController()),
  };
}

const namespaces = { vms: namespace, disks: namespace };

test('on a pipe, status --watch prints the status once, and then each change, also one during a restart of the API server', async (t) => {
  const { api, cloud } = await testCloud(t);
  const server = restartableApi(api);
  const ended = new AbortController();
  t.after(() => ended.abort());
  const output = recordOutput();
  const watching = watchStatus({
    ...{ api: server.api, namespaces, terminal: output.context.terminal },
    ...{ clock: systemClock, signal: ended.signal, details: false },
  });
  const shows = (text: string) => until(text, async () => output.out.includes(text));
  const reports = (text: string) =>
    until(text, async () => output.errors.some((line) => line.includes(text)));
  await shows('Instance  Pod');
  const first = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  await shows(`disk ${first}: new -> Pending, 64Mi, not attached`);

  server.stop();
  await reports('the cluster cannot be read: connect ECONNREFUSED');
  const second = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  await deleteDisk(cloud, { diskCid: first });
  assert.doesNotMatch(output.out, new RegExp(second, 'u'));
  server.start();
  await reports('the cluster can be read again');
  await shows(`disk ${second}: new -> Pending`);
  await shows(`disk ${first}: Pending, 64Mi, not attached -> deleted`);
  ended.abort();
  await watching;
});

test('a list that the account may not watch is read again and again, without a failure', async (t) => {
  const { api, cloud } = await testCloud(t);
  const ended = new AbortController();
  t.after(() => ended.abort());
  const output = recordOutput();
  // oxlint-disable-next-line require-yield
  async function* watch(): AsyncIterable<never> {
    throw new ApiError({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'cannot watch' } as Status);
  }
  const unwatched: KubernetesApi = Object.assign(Object.create(api) as KubernetesApi, {
    watch,
    get: (reference: ObjectReference) => api.get(reference),
    list: (...args: Parameters<KubernetesApi['list']>) => api.list(...args),
  });
  const watching = watchStatus({
    ...{ api: unwatched, namespaces, terminal: output.context.terminal },
    ...{ clock: systemClock, signal: ended.signal, details: false },
  });
  await until('the status', async () => output.out.includes('Instance  Pod'));
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  await until('the disk', async () => output.out.includes(`disk ${disk}: new`));
  ended.abort();
  await watching;
  assert.deepEqual(output.errors, []);
});

test('on a terminal, status --watch draws changes, says since when it is not up to date, and restores the terminal', async (t) => {
  const { api, cloud } = await testCloud(t);
  const server = restartableApi(api);
  const ended = new AbortController();
  t.after(() => ended.abort());
  let picture = '';
  let resize = (): void => undefined;
  let columns = 80;
  let isClosed = false;
  const unused = (): void => assert.fail('not used by a picture');
  const display: Display = {
    get columns() {
      return columns;
    },
    ...{ table: unused, lines: unused, live: unused },
    screen: {
      onResize: (listener) => (resize = listener),
      draw: (lines) => (picture = lines.map(textOf).join('\n')),
      close: () => (isClosed = true),
    },
  };
  const watching = watchStatus({
    ...{ api: server.api, namespaces, terminal: { ...recordOutput().context.terminal, display } },
    ...{ clock: systemClock, signal: ended.signal, details: false },
  });
  const draws = (pattern: RegExp) =>
    until(
      () => `${pattern} in ${picture}`,
      async () => pattern.test(picture),
      8000,
    );
  await createVm(cloud, createVmRequest());
  await setVmMetadata(cloud, {
    vmCid: `vm-${createVmRequest().agentId}`,
    metadata: { deployment: 'dep', job: 'web', index: 0 },
  });
  await draws(/^dep\/web\/0 +(?:Running|Not ready) +0 +\S+ +\S+ +\d+s +vm-2b3c4d5e…$/mu);
  columns = 40;
  resize();
  assert.match(picture, /^dep\/web\/0 +\S+/mu);
  // A cid is one word, which is not broken.
  assert.ok(picture.split('\n').every((line) => line.length <= 40 || /^ *\S+$/u.test(line)));
  server.stop();
  await draws(/NOT UP TO DATE since .*ECONNREFUSED[^]*dep\/web\/0/u);
  server.start();
  await until('the end of the failure', async () => !picture.includes('NOT UP TO DATE'));
  ended.abort();
  await watching;
  assert.ok(isClosed);
});
