import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesApi, WatchEvent } from '../../kubernetes/api.ts';
import type { EventRecord } from '../../kubernetes/describe-pod.ts';
import type { Pod, PodStatus } from '../../kubernetes/types/pod.ts';
import { events, pods, secrets } from '../../kubernetes/resources.ts';
import type { CallContext, ExecResult } from '../call.ts';
import { ObservedCall } from './observed-call.ts';

const startedAt = Date.parse('2026-01-01T00:00:00Z');
const namespace = 'bosh';
const reference = { resource: pods, namespace, name: 'vm-1' };
const thisPod = { namespace, fieldSelector: 'metadata.name=vm-1' };

/** A call at a time that only the test changes, on an API that answers with what the test gives. */
function observe(answers: { readonly watch?: () => AsyncGenerator; readonly list?: unknown[] } = {}) {
  let now = startedAt;
  const pass = (ms: number): void => void (now += ms);
  const stored = async (ms: number, object: unknown): Promise<unknown> => {
    await Promise.resolve();
    pass(ms);
    return object;
  };
  const api: Partial<Record<keyof KubernetesApi, unknown>> = {
    get: () =>
      stored(10, { metadata: { name: 'x' }, status: { conditions: [null, 7], containerStatuses: 'x' } }),
    create: () => stored(20, { metadata: { name: 'x' } }),
    list: () => stored(5, { metadata: {}, items: answers.list ?? [] }),
    watch: answers.watch,
  };
  const call: Partial<CallContext> = {
    api: api as unknown as KubernetesApi,
    exec: async () => (await stored(300, { exitCode: 0, stdout: '', stderr: '' })) as ExecResult,
  };
  const observed = new ObservedCall(call as CallContext, { startedAt, now: () => now });
  return { observed, pass, api: observed.call.api, exec: observed.call.exec };
}

const pod = (status: PodStatus, nodeName?: string, deletionTimestamp?: string): WatchEvent<Pod> =>
  ({
    type: 'MODIFIED',
    object: {
      metadata: { name: 'vm-1', namespace, uid: 'u', ...(deletionTimestamp && { deletionTimestamp }) },
      spec: { containers: [], ...(nodeName && { nodeName }) },
      status,
    },
  }) as unknown as WatchEvent<Pod>;
const running: PodStatus = {
  podIP: '10.0.0.1',
  containerStatuses: [
    {
      name: 'bosh',
      image: '',
      imageID: '',
      ready: true,
      restartCount: 0,
      state: { running: { startedAt: '' } },
    },
  ],
};
const sandbox = (status: 'True' | 'False'): PodStatus => ({
  conditions: [{ type: 'PodReadyToStartContainers', status }],
});
const pulling: EventRecord = {
  metadata: { name: 'e', namespace },
  involvedObject: { kind: 'Pod', name: 'vm-1' },
  reason: 'Pulling',
  lastTimestamp: '2026-01-01T00:00:04Z',
};

async function readAll(watch: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of watch);
}

test('a wait for a pod is divided at what the watch shows of its start', async () => {
  const { observed, pass, api } = observe({
    async *watch() {
      await Promise.resolve();
      pass(1000);
      yield pod(sandbox('False'), 'node-1');
      pass(2000);
      yield pod(sandbox('True'), 'node-1');
      pass(500);
      yield pod(running, 'node-1');
    },
  });

  await readAll(api.watch<Pod>(pods, thisPod));

  const of = 'pods vm-1';
  assert.deepEqual(observed.phases(), [
    { kind: 'schedule', at: 0, ms: 1000, of },
    { kind: 'mount', at: 1000, ms: 2000, of, n: 0 },
    { kind: 'start', at: 3000, ms: 500, of, n: 0 },
  ]);
  assert.deepEqual(observed.requests, { reads: 1, writes: 0, execs: 0 });
});

test('the time of a pull is that of the events that the call reads, up to the running container', async () => {
  const { observed, pass, api } = observe({
    list: [pulling],
    async *watch() {
      yield pod({}, 'node-1');
      pass(5000);
      await api.list(events, { namespace });
      pass(20_000);
      yield pod(running, 'node-1');
    },
  });

  await readAll(api.watch<Pod>(pods, thisPod));

  const kinds = observed.phases().map(({ kind, at, ms }) => [kind, at, ms]);
  assert.deepEqual(kinds, [
    ['mount', 0, 4000],
    ['pull', 4000, 21_005],
  ]);
});

test('a pod that never got its volumes shows that; one that is deleted is one wait', async () => {
  for (const [event, kind] of [
    [pod(sandbox('False'), 'node-1'), 'mount'],
    [pod({}), 'schedule'],
    [pod({}, 'node-1', '2026-01-01T00:00:00Z'), 'delete'],
  ] as const) {
    const { observed, pass, api } = observe({
      async *watch() {
        yield event;
        await Promise.resolve();
        pass(9000);
      },
    });
    await readAll(api.watch<Pod>(pods, thisPod));
    assert.deepEqual(
      observed.phases().map((phase) => phase.kind),
      [kind],
    );
  }
});

test('neighbouring requests of a kind are one phase; what runs at the same time counts once', async () => {
  const { observed, api, exec, pass } = observe();

  await Promise.all([api.get(reference), api.get({ ...reference, name: 'vm-2' })]);
  await api.get({ resource: secrets, namespace, name: 'vm-1' });
  pass(100);
  await api.create(pods, { metadata: { name: 'vm-1', namespace } });
  await exec({ pod: 'vm-1', container: 'bosh', command: ['/bin/sh', '-c', 'true'], deadlineMs: 1 });

  assert.deepEqual(observed.phases(), [
    { kind: 'read', at: 0, ms: 30, of: 'pods, secrets', n: 3 },
    { kind: 'write', at: 130, ms: 20, of: 'pods vm-1' },
    { kind: 'exec', at: 150, ms: 300, of: 'pods vm-1' },
  ]);
});

test('a request that is still running counts until now, as in a call that a signal ends', () => {
  const { observed, api, pass } = observe({
    async *watch() {
      await new Promise(() => undefined);
      yield undefined;
    },
  });
  api.watch(secrets, { namespace, fieldSelector: 'metadata.name=vm-1' });
  pass(700);
  assert.deepEqual(observed.phases(), [{ kind: 'wait', at: 0, ms: 700, of: 'secrets vm-1' }]);
});
