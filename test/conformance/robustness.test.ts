import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { namespaces, nodes as nodeObjects } from '../../src/kubernetes/resources.ts';
import { SimulatedNodes } from '../../embedded-cluster/testing/simulated-nodes/simulated-nodes.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { requestRows } from '../cpi/request-rows.ts';
import { isExec, type Fate, type ProxiedRequest } from '../support/api-proxy.ts';
import { clause } from './clause.ts';
import { overtaken } from './overtaken.ts';
import { rightsInForce } from '../support/rights-in-force.ts';
import { applyRoles, tokenKubeconfig, tokenOf } from './roles.ts';
import { pass, refusal, through, type Through } from './through-proxy.ts';
import { World } from './world.ts';

function raise(error: unknown): never {
  throw error;
}

/**
 * Requests whose number grows on a slow machine: every few seconds a wait reads its node and the events, and
 * runs a script in a mount container that is starting.
 */
const grows = ({ url }: ProxiedRequest): boolean =>
  isExec(url) || /^\/api\/v1\/(?:nodes\/|namespaces\/[^/]+\/events\?)/u.test(url);

const kindOf = ({ method, url }: ProxiedRequest): 'watch' | 'read' | 'write' => {
  if (method !== 'GET') return 'write';
  return url.includes('watch=') ? 'watch' : 'read';
};

/**
 * The errors of an API server, of etcd behind it and of a proxy before it. A write is refused only in such a
 * way that it is certain that it was not done.
 */
const troubles = (): Record<'watch' | 'read' | 'write', Fate[]> => {
  const badGateway: Fate = { kind: 'answer', status: 502, body: '<html>502 Bad Gateway</html>' };
  return {
    watch: [badGateway, refusal(410, 'Expired')],
    read: [
      { kind: 'unheard' },
      badGateway,
      refusal(503, 'ServiceUnavailable', { 'retry-after': '1' }),
      refusal(500, 'InternalError'),
    ],
    write: [refusal(429, 'TooManyRequests', { 'retry-after': '1' })],
  };
};

describe('robustness', () => {
  let world: World;
  before(async () => {
    world = await World.open();
  });
  after(() => world.close());

  clause('44a', async () => {
    // thirty-two agents at once would test the machine: the new VMs are on a simulated node
    const zone = `crowd-${randomUUID().slice(0, 8)}`;
    const home = join(world.directory, 'home');
    await mkdir(home);
    const options = {
      environment: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', TMPDIR: home, HOME: home },
      settings: { deadlines: { create_vm: 240, attach_disk: 240, detach_disk: 240 } },
    };
    const rows = await requestRows();
    let expected = 0;
    const ok = async (
      method: string,
      args: readonly unknown[],
      settings: Partial<Through['settings']> = {},
    ): Promise<unknown> => {
      const { reads, writes } = rows.get(method) ?? assert.fail(method);
      if (settings.kubernetes !== undefined) expected += reads + writes;
      const all = { ...options, settings: { ...options.settings, ...settings } };
      const { result, error } = await world.request(method, args, all);
      assert.equal(error, null, `${method}: ${error?.message}`);
      return result;
    };
    const nodes = new SimulatedNodes({
      api: world.api,
      nodes: [{ name: zone, zone }],
      clock: systemClock,
      onError: raise,
    });
    const old = await Promise.all(Array.from({ length: 8 }, () => world.newVm()));
    const disks = await Promise.all(old.map((vm) => world.newDisk({}, vm)));
    // after the VMs that get disks, because nothing could mount a disk there
    await nodes.start();

    const made: unknown[] = [];
    await through(
      world,
      () => pass,
      async ({ settings }, { requests }) => {
        const crowd = Array.from({ length: 16 }, () => world.vmArguments({ properties: { zone } }));
        await Promise.all([
          ...crowd.map(async (args) => made.push(await ok('create_vm', args, settings))),
          ...old.map((vm, index) => ok('attach_disk', [vm, disks[index]], settings)),
          ...old.map(() => ok('has_vm', [`vm-${randomUUID()}`], settings)),
        ]);
        // no call polls, except for reads that a long wait repeats
        const counted = requests.filter((request) => !grows(request)).length;
        assert.ok(counted <= 1.5 * expected, `${counted} requests, and ${expected} by the table`);
      },
    );

    const fresh = made.map((result) => (result as [string])[0]);
    assert.equal(new Set(fresh).size, 16);
    assert.deepEqual((await world.objects()).vms, [...old, ...fresh].toSorted());
    for (const [index, vm] of old.entries()) assert.deepEqual(await ok('get_disks', [vm]), [disks[index]]);
    assert.deepEqual(await readdir(home), []);
    await Promise.all([...old, ...fresh].map((vm) => ok('delete_vm', [vm])));
    await Promise.all(disks.map((disk) => ok('delete_disk', [disk])));
    await nodes.stop();
    await world.api.delete({ resource: nodeObjects, name: zone });
  });

  clause('44b', async () => {
    const harmed = new Set<string>();
    const remaining = troubles();
    const harm = (request: ProxiedRequest): Fate => {
      if (isExec(request.url)) return pass;
      const kind = kindOf(request);
      const what = `${kind} ${request.url.split('?')[0] ?? ''}`;
      // each kind of request fails once, by one fault after the other; watches fail by each, and a wait needs
      // some watches
      if (harmed.has(what) && kind !== 'watch') return pass;
      harmed.add(what);
      const [next = pass, ...others] = remaining[kind];
      remaining[kind] = kind === 'watch' ? others : [...others, next];
      return next;
    };
    await through(world, harm, async (settings, { requests }) => {
      const call = async (method: string, args: readonly unknown[]): Promise<unknown> => {
        const { result, error } = await world.request(method, args, settings);
        assert.equal(error, null, `${method}: ${error?.message}`);
        return result;
      };
      const [vm] = (await call('create_vm', world.vmArguments())) as [string];
      const disk = (await call('create_disk', [64, {}, vm])) as string;
      await call('attach_disk', [vm, disk]);
      await call('set_vm_metadata', [vm, { deployment: 'cf' }]);
      await call('delete_vm', [vm]);
      await call('delete_disk', [disk]);
      // the object of a wait may exist before the wait needs a watch
      for (let more = 0; more < 5 && remaining.watch.length > 0; more += 1)
        await call('delete_vm', [((await call('create_vm', world.vmArguments())) as [string])[0]]);
      assert.deepEqual(remaining.watch, []);
      const reads = [...harmed].filter((what) => what.startsWith('read ')).length;
      assert.ok(reads >= remaining.read.length && harmed.size >= 8, [...harmed].join('\n'));
      assert.ok(requests.length < 200, `${requests.length} requests`);
    });
    await overtaken(world);
  });

  clause('46a', async () => {
    const { kubeconfig } = world.settings['kubernetes'] ?? {};
    assert.match(JSON.stringify(kubeconfig), /"user":\{"token":"[^"]+"\}/u);
    const vm = await world.newVm();
    const disk = await world.newDisk({}, vm);
    await world.call('attach_disk', vm, disk);
    await world.call('set_disk_metadata', disk, { deployment: 'cf' });
    await world.call('detach_disk', vm, disk);
    await world.call('delete_vm', vm);
    await world.call('delete_disk', disk);
  });

  clause('46b', async () => {
    const namespace = `${world.namespace}-less`;
    await world.api.create(namespaces, { metadata: { name: namespace } });
    await applyRoles(world.api, {
      namespace,
      change: (rule) =>
        rule.resources.includes('pods')
          ? { ...rule, verbs: rule.verbs.filter((verb) => verb !== 'create') }
          : rule,
    });
    await rightsInForce(world.api, namespace);
    const token = await tokenOf(world.target.access, namespace);
    const kubernetes = { namespace, kubeconfig: tokenKubeconfig(world.target.access, token) };
    const { error } = await world.request('create_vm', world.vmArguments(), { settings: { kubernetes } });
    assert.match(error?.message ?? '', /create/u);
    assert.match(error?.message ?? '', /pods/u);
    assert.ok(error?.message.includes(namespace), error?.message);
    await world.api.delete({ resource: namespaces, name: namespace });
  });

  clause('47a', async () => {
    const vm = `vm-${randomUUID()}`;
    const disk = `disk-${randomUUID()}`;
    const living = await world.newVm();
    const detached = await world.newDisk();
    for (const [method, args, message] of [
      ['detach_disk', [living, detached], [detached, living, world.namespace, 'nothing to detach']],
      ['reboot_vm', [vm], [vm, world.namespace, 'recreate it']],
      ['set_disk_metadata', [disk, {}], [disk, world.namespace, 'correct kubernetes.namespace']],
      ['snapshot_disk', [disk, {}], [disk, world.namespace, 'correct kubernetes.namespace']],
      ['resize_disk', [detached, 32], [detached, world.namespace, 'a director copies it']],
      ['create_disk', [64, { storage_class: 'there-is-none' }, null], ['there-is-none', 'storage_class']],
      ['create_vm', world.vmArguments({ properties: { no_such_key: 1 } }), ['no_such_key', 'known are']],
      [
        'create_vm',
        world.vmArguments({ properties: { cpu: 100_000 } }),
        ['Insufficient cpu', world.namespace, 'make room on a node'],
      ],
    ] as const) {
      const { error } = await world.request(method, args);
      for (const word of message) assert.ok(error?.message.includes(word), `${method}: ${error?.message}`);
    }
  });

  clause('47b', async () => {
    const vm = `vm-${randomUUID()}`;
    const disk = `disk-${randomUUID()}`;
    for (const [type, method, args] of [
      ['VMNotFound', 'get_disks', [vm]],
      ['VMNotFound', 'reboot_vm', [vm]],
      ['VMNotFound', 'set_vm_metadata', [vm, {}]],
      ['DiskNotFound', 'set_disk_metadata', [disk, {}]],
      ['DiskNotFound', 'snapshot_disk', [disk, {}]],
      ['DiskNotFound', 'resize_disk', [disk, 128]],
      ['NotSupported', 'configure_networks', []],
      ['NotImplemented', 'current_vm_id', []],
    ] as const) {
      await world.refuses(type, method, args);
    }
  });
});
