import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { persistentVolumeClaims, storageClasses, volumeSnapshots } from '../../src/kubernetes/resources.ts';
import { tokenKubeconfig, tokenOf } from '../conformance/roles.ts';
import { World } from '../conformance/world.ts';
import { requestRows } from '../cpi/request-rows.ts';
import { startApiProxy, type ApiProxy, type ProxiedRequest } from '../support/api-proxy.ts';
import { until } from '../support/until.ts';

/** One row of the table of requests in docs/cpi.md. */
interface Case {
  readonly row: string;
  readonly method: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Arguments of a call that has everything still to do. */
  readonly prepare: () => Promise<readonly unknown[]>;
  /** How the call that comes after a killed one may end; success when absent. */
  readonly againMayFail?: RegExp;
  /** What a killed call may leave, marked as unclaimed: the contract gives no key to find it by. */
  readonly mayLeave?: 'disks' | 'snapshots';
  /** What the answer, or the second one, has to be worth. */
  readonly check?: (args: readonly unknown[], result: unknown) => Promise<void>;
}

/** After which of the answers that the API gives; or when the call's own answer has begun to come. */
type Kill = { readonly after: 'write' | 'request'; readonly number: number } | { readonly after: 'answer' };

interface Seen {
  readonly writes: number;
  readonly requests: number;
}

/** Every verb, killed after each of its writes, before its answer and after it; then called again. */
describe('killed verbs', () => {
  let world: World;
  let vm: string;
  let recreated: string;
  let rigid: string;
  const kills = new Map<string, number>();
  const recreate = { kubernetes: { attach: 'recreate' } };
  const store = (disk: string): string => `/warden-cpi-dev/disks/${disk}/store`;

  before(async () => {
    world = await World.open();
    vm = await world.newVm();
    const made = await world.request('create_vm', world.vmArguments(), { settings: recreate });
    [recreated] = made.result as [string];
    const [first] = (await world.api.list(storageClasses)).items;
    assert.ok(first !== undefined);
    const { metadata: _, ...rest } = first;
    rigid = `${world.namespace}-other`;
    await world.api.create(storageClasses, { ...rest, metadata: { name: rigid } });
  });
  after(async () => {
    await world.api.delete({ resource: storageClasses, name: rigid });
    await world.close();
  });

  const services = [{ name: 'killed', selector: 'vm', ports: [{ port: 80, target_port: 8080 }] }];

  async function filled(target = vm): Promise<string> {
    const disk = await attached(target);
    await world.call('detach_disk', target, disk);
    return disk;
  }

  async function attached(target = vm): Promise<string> {
    const disk = await world.newDisk({}, target);
    await world.call('attach_disk', target, disk);
    await world.run(target, `echo kept > ${store(disk)}/content`);
    return disk;
  }

  async function isKept(disk: string, target = vm): Promise<void> {
    await world.call('attach_disk', target, disk);
    assert.equal(await world.run(target, `cat ${store(disk)}/content`), 'kept\n');
    await world.call('detach_disk', target, disk);
    await world.call('delete_disk', disk);
  }

  const cases: readonly Case[] = [
    {
      ...{ row: 'create_vm', method: 'create_vm' },
      prepare: async () => world.vmArguments({ properties: { services } }),
      check: async (_, result) => world.call('delete_vm', (result as [string])[0]),
    },
    {
      ...{ row: 'create_vm (recreate)', method: 'create_vm', settings: recreate },
      prepare: async () => world.vmArguments(),
      check: async (_, result) => world.call('delete_vm', (result as [string])[0]),
    },
    {
      ...{ row: 'delete_vm', method: 'delete_vm' },
      prepare: async () => [await world.newVm({ properties: { services } })],
    },
    {
      ...{ row: 'delete_vm (a disk attached)', method: 'delete_vm' },
      prepare: async () => {
        const own = await world.newVm();
        for (let count = 0; count < 2; count += 1) await attached(own);
        return [own];
      },
      check: async () => {
        const { disks } = await world.objects();
        for (const disk of disks) await isKept(disk);
      },
    },
    {
      ...{ row: 'delete_vm (recreate)', method: 'delete_vm' },
      prepare: async () => {
        const { result } = await world.request('create_vm', world.vmArguments(), { settings: recreate });
        return [(result as [string])[0]];
      },
    },
    { row: 'reboot_vm', method: 'reboot_vm', prepare: async () => [vm] },
    { row: 'has_vm', method: 'has_vm', prepare: async () => [vm] },
    {
      ...{ row: 'set_vm_metadata', method: 'set_vm_metadata' },
      prepare: async () => [vm, { deployment: 'cf', custom: randomUUID() }],
      check: async ([, metadata]) => {
        const text = JSON.stringify((await world.pod(vm)).metadata);
        assert.ok(text.includes((metadata as { custom: string }).custom));
      },
    },
    {
      ...{ row: 'create_disk', method: 'create_disk', mayLeave: 'disks' },
      prepare: async () => [64, {}, vm],
      check: async (_, result) => world.call('delete_disk', result),
    },
    { row: 'delete_disk', method: 'delete_disk', prepare: async () => [await filled()] },
    { row: 'has_disk', method: 'has_disk', prepare: async () => ['disk-none'] },
    {
      ...{ row: 'attach_disk', method: 'attach_disk' },
      prepare: async () => [vm, await filled()],
      check: async ([, disk]) => isKept(disk as string),
    },
    {
      ...{ row: 'attach_disk (recreate)', method: 'attach_disk' },
      prepare: async () => [recreated, await filled()],
      check: async ([, disk]) => isKept(disk as string, recreated),
    },
    {
      ...{ row: 'detach_disk', method: 'detach_disk', againMayFail: /DiskNotAttached$/u },
      prepare: async () => [vm, await attached()],
      check: async ([, disk]) => isKept(disk as string),
    },
    {
      ...{ row: 'detach_disk (recreate)', method: 'detach_disk', againMayFail: /DiskNotAttached$/u },
      prepare: async () => [recreated, await attached(recreated)],
      check: async ([, disk]) => isKept(disk as string),
    },
    {
      ...{ row: 'resize_disk', method: 'resize_disk' },
      prepare: async () => [await filled(), 128],
      check: async ([disk]) => isKept(disk as string),
    },
    {
      ...{ row: 'update_disk', method: 'update_disk' },
      prepare: async () => [await filled(), 128, {}],
      check: async ([disk]) => isKept(disk as string),
    },
    {
      ...{ row: 'update_disk (into another class)', method: 'update_disk' },
      prepare: async () => [await filled(), 64, { storage_class: rigid }],
      check: async (_, result) => isKept(result as string),
    },
    {
      ...{ row: 'set_disk_metadata', method: 'set_disk_metadata' },
      prepare: async () => [await filled(), { deployment: 'cf' }],
      check: async ([disk]) => isKept(disk as string),
    },
    { row: 'get_disks', method: 'get_disks', prepare: async () => [vm] },
    {
      ...{ row: 'snapshot_disk', method: 'snapshot_disk', mayLeave: 'snapshots' },
      prepare: async () => [await filled(), {}],
      check: async ([disk], result) => {
        await world.call('delete_snapshot', result);
        await isKept(disk as string);
      },
    },
    {
      ...{ row: 'delete_snapshot', method: 'delete_snapshot' },
      prepare: async () => {
        const disk = await filled();
        const snapshot = await world.call('snapshot_disk', disk, {});
        await world.call('delete_disk', disk);
        return [snapshot];
      },
    },
  ];

  for (const each of cases) {
    test(`${each.row}, killed after every write and around its answer`, async () => {
      const empty = await everything();
      let seen: Seen;
      let number = 1;
      // the last round is not killed, and is repeated all the same
      do seen = await killAndRepeat(each, { after: 'write', number }, empty);
      while (seen.writes >= number++);
      await killAndRepeat(each, { after: 'request', number: seen.requests }, empty);
      await killAndRepeat(each, { after: 'answer' }, empty);
    });
  }

  test('no row of the table in docs/cpi.md was killed less often than it writes', async (t) => {
    const rows = await requestRows();
    for (const { row } of cases) {
      const documented = rows.get(row);
      assert.ok(documented !== undefined, `${row} is not in the table`);
      assert.ok((kills.get(row) ?? 0) >= documented.writes, `${row}: ${kills.get(row) ?? 0} kills`);
    }
    t.diagnostic(
      `${[...kills.values()].reduce((sum, count) => sum + count, 0)} kills of ${kills.size} kinds of calls`,
    );
  });

  /** Resolves with what the call got to. */
  async function killAndRepeat(each: Case, kill: Kill, empty: unknown): Promise<Seen> {
    const args = await each.prepare();
    const seen = await killed(each, args, kill);
    const { result, error } = await world.request(each.method, args, { settings: each.settings ?? {} });
    if (error !== null && each.againMayFail?.test(error.type) !== true) {
      assert.fail(`${each.row} after a kill ${JSON.stringify(kill)}: ${error.type}: ${error.message}`);
    }
    await each.check?.(args, result);
    await removeUnclaimed(each);
    await until(`the cluster to be as before ${each.row}, killed ${JSON.stringify(kill)}`, async () => {
      return JSON.stringify(await everything()) === JSON.stringify(empty);
    });
    return seen;
  }

  async function killed(each: Case, args: readonly unknown[], kill: Kill): Promise<Seen> {
    let child: ChildProcess | undefined;
    const seen = { writes: 0, requests: 0 };
    const killNow = (): void => {
      child?.kill('SIGKILL');
      kills.set(each.row, (kills.get(each.row) ?? 0) + 1);
    };
    const onAnswer = (request: ProxiedRequest): void => {
      seen.requests += 1;
      if (isWrite(request)) seen.writes += 1;
      if (kill.after === 'request' && seen.requests === kill.number) killNow();
      if (kill.after === 'write' && isWrite(request) && seen.writes === kill.number) killNow();
    };
    const proxy = await startApiProxy({
      access: world.target.access,
      decide: () => ({ kind: 'pass' }),
      onAnswer,
    });
    try {
      const settings = {
        ...each.settings,
        kubernetes: { ...(each.settings?.['kubernetes'] as object), kubeconfig: await through(proxy) },
      };
      const options = {
        settings,
        onStart: (started: ChildProcess) => {
          child = started;
          // the answer is written in one piece, so its first byte is as good as its last
          if (kill.after === 'answer') started.stdout?.once('data', killNow);
        },
      };
      // a killed process has no answer
      await world.request(each.method, args, options).catch(() => {});
    } finally {
      await proxy.close();
    }
    return seen;
  }

  async function through(proxy: ApiProxy): Promise<object> {
    const token = await tokenOf(world.target.access, world.namespace);
    return tokenKubeconfig({ ...world.target.access, server: proxy.server, ca: proxy.ca }, token);
  }

  async function snapshots(): Promise<{ name: string; isUnclaimed: boolean }[]> {
    const { items } = await world.api.list(volumeSnapshots, { namespace: world.namespace });
    return items.map(({ metadata: { name = '', labels = {} } }) => ({
      ...{ name, isUnclaimed: labels['bosh.cloudfoundry.org/unclaimed'] !== undefined },
    }));
  }

  async function everything(): Promise<unknown> {
    return { ...(await world.objects()), snapshots: (await snapshots()).map(({ name }) => name) };
  }

  /** Fails for a leftover without the mark. */
  async function removeUnclaimed({ mayLeave }: Case): Promise<void> {
    if (mayLeave === 'disks') {
      const query = { namespace: world.namespace, labelSelector: 'bosh.cloudfoundry.org/unclaimed' };
      const { items } = await world.api.list(persistentVolumeClaims, query);
      for (const { metadata } of items) await world.call('delete_disk', metadata.name);
    }
    if (mayLeave === 'snapshots') {
      for (const { name, isUnclaimed } of await snapshots()) {
        assert.ok(isUnclaimed, name);
        await world.call('delete_snapshot', name);
      }
    }
  }
});

const isWrite = ({ method, url }: ProxiedRequest): boolean =>
  method !== 'GET' && !url.includes('/exec') && !url.includes('dryRun=');
