import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, describe } from 'node:test';
import { matchesNodeTerms } from '../../embedded-cluster/controllers/scheduling/node-affinity.ts';
import { SimulatedNodes } from '../../embedded-cluster/testing/simulated-nodes/simulated-nodes.ts';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Node } from '../../src/kubernetes/types/node.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { nodes, persistentVolumeClaims, persistentVolumes, pods } from '../../src/kubernetes/resources.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  volumeAnnotations,
} from '../../src/kubernetes/types/storage.ts';
import { until } from '../support/until.ts';
import { clause } from './clause.ts';
import { attachWaiting, withWaitingClass } from './waiting-class.ts';
import { World } from './world.ts';

/**
 * Nodes that run VMs (two of the embedded cluster, or those of the target), and a simulated one beside them,
 * because it must be lost.
 */
describe('nodes', () => {
  const silent = `silent-${randomUUID().slice(0, 8)}`;
  let world: World;
  let simulated: SimulatedNodes;
  before(async () => {
    world = await World.open();
    simulated = new SimulatedNodes({
      ...{ api: world.api, nodes: [{ name: silent, zone: silent }], clock: systemClock },
      onError: (error) => {
        throw error;
      },
    });
    await simulated.start();
  });
  after(async () => {
    await simulated.stop();
    await world.api.delete({ resource: nodes, name: silent });
    await world.close();
  });

  const deadlines = { settings: { deadlines: { lost_node: 1, delete_vm: 20 } } };

  /** Stops the heartbeat of the node, and sets the condition that the cluster sets after a while. */
  async function lose(): Promise<void> {
    simulated.stopHeartbeat(silent);
    const { status } = await world.api.get<Node>({ resource: nodes, name: silent });
    const longAgo = new Date(Date.now() - 60_000).toISOString().replace(/\.\d+Z$/u, 'Z');
    const conditions = (status?.conditions ?? []).map((condition) =>
      condition.type === 'Ready'
        ? { ...condition, status: 'Unknown', reason: 'NodeStatusUnknown', lastTransitionTime: longAgo }
        : condition,
    );
    await world.api.patch(
      { resource: nodes, name: silent },
      { status: { conditions } },
      { subresource: 'status' },
    );
  }

  async function runningNodes(): Promise<string[]> {
    const { items } = await world.api.list<Node>(nodes);
    return items.map(({ metadata }) => metadata.name).filter((name) => name !== silent);
  }

  const onNode = (name: string): object => ({ node_selector: { 'kubernetes.io/hostname': name } });

  clause('24e', async () => {
    const vm = await world.newVm({ properties: { zone: silent } });
    await lose();
    const { error } = await world.request('delete_vm', [vm], deadlines);
    assert.equal(error, null, error?.message);
    assert.equal(await world.call('has_vm', vm), false);
    await simulated.resumeHeartbeat(silent);
  });

  /**
   * Leaves the state of an attach_disk that is killed while it waits for the mount: no process on that node
   * reports that the disk is mounted.
   */
  async function attachWhereNothingRuns(vm: string, disk: string): Promise<void> {
    let child: ChildProcess | undefined;
    const onStart = (started: ChildProcess): void => {
      child = started;
    };
    const killed = assert.rejects(world.request('attach_disk', [vm, disk], { onStart }));
    const { namespace } = world;
    await until(`the attachment of ${disk} to run`, async () => {
      const { items } = await world.api.list<Pod>(pods, { namespace });
      const found = items.find(({ metadata }) => metadata.name === `attach-${disk}`);
      return found?.status?.phase === 'Running';
    });
    child?.kill('SIGKILL');
    await killed;
  }

  clause('24f', async () => {
    const fixed = await world.newVm({ properties: { zone: silent }, networks: world.manual('198.19.0.10') });
    const owner = await world.newVm({ properties: { zone: silent } });
    const volume = `${world.namespace}-near`;
    await makeVolume(volume);
    const disk = await world.newDisk({ storage_class: '' });
    await attachWhereNothingRuns(owner, disk);
    await lose();
    for (const [vm, stake] of [
      [fixed, '198.19.0.10'],
      [owner, disk],
    ] as const) {
      const { error } = await world.request('delete_vm', [vm], deadlines);
      assert.match(error?.message ?? '', new RegExp(`${silent}.*kubectl taint nodes`, 'su'));
      assert.ok(error?.message.includes(stake), error?.message);
      assert.equal(await world.call('has_vm', vm), true);
    }
    await simulated.resumeHeartbeat(silent);
    // no process runs there that could unmount the disk
    await world.api
      .delete({ resource: pods, namespace: world.namespace, name: `attach-${disk}` })
      .catch(ignoreNotFound);
    for (const vm of [fixed, owner]) await world.call('delete_vm', vm);
    await world.call('delete_disk', disk);
    await world.api.delete({ resource: persistentVolumes, name: volume });
  });

  clause('31c', () =>
    withWaitingClass(world, async (waiting) => {
      const [one = '', node = one] = await runningNodes();
      const vm = await world.newVm({ properties: onNode(node) });
      const disk = await world.newDisk({ storage_class: waiting }, vm);
      const others = [
        await world.newDisk({}, vm),
        await world.newDisk({}, null),
        await world.newDisk(null, null),
      ];
      await attachWaiting(world, vm, disk);
      const { metadata, spec } = await world.api.get<PersistentVolumeClaim>({
        ...{ resource: persistentVolumeClaims, namespace: world.namespace, name: disk },
      });
      assert.equal(metadata.annotations?.[volumeAnnotations.selectedNode], node);
      const volume = await world.api.get<PersistentVolume>({
        ...{ resource: persistentVolumes, name: spec.volumeName ?? '' },
      });
      const { labels = {} } = (await world.api.get<Node>({ resource: nodes, name: node })).metadata;
      const terms = volume.spec.nodeAffinity?.required?.nodeSelectorTerms;
      assert.ok(
        terms === undefined || matchesNodeTerms(terms, { name: node, labels }),
        JSON.stringify(terms),
      );
      await world.call('delete_vm', vm);
      for (const each of [disk, ...others]) await world.call('delete_disk', each);
    }),
  );

  clause('34f', async () => {
    const [near = ''] = await runningNodes();
    const vm = await world.newVm({ properties: onNode(near) });
    const disk = `disk-${randomUUID()}`;
    const volume = `${world.namespace}-far`;
    await makeFarVolume(volume, disk);
    const settings = { settings: { deadlines: { attach_disk: 5, schedule: 3 } } };
    const { error } = await world.request('attach_disk', [vm, disk], settings);
    assert.ok(error !== null, 'a disk of another zone was attached');
    assert.match(error.message, new RegExp(disk, 'u'));
    assert.deepEqual(await world.call('get_disks', vm), []);
    assert.deepEqual((await world.objects()).attachments, []);
    await world.run(vm, 'true');
    await world.call('delete_vm', vm);
    await world.api.delete({ resource: persistentVolumeClaims, namespace: world.namespace, name: disk });
    await world.api.delete({ resource: persistentVolumes, name: volume });
  });

  clause('36a', async () => {
    const running = await runningNodes();
    const [one = '', two] = running;
    const needed = 'contents go from one node to another, and this needs two nodes that run VMs';
    assert.ok(two !== undefined, `${needed}: beside '${running.join()}' there is none`);
    const vm = await world.newVm({ properties: onNode(one) });
    const disk = await world.newDisk({}, vm);
    await world.call('attach_disk', vm, disk);
    await world.run(vm, `echo moved > /warden-cpi-dev/disks/${disk}/store/content`);
    await world.call('detach_disk', vm, disk);
    await world.call('delete_vm', vm);
    const other = await world.newVm({ properties: onNode(two) });
    await world.call('attach_disk', other, disk);
    assert.equal((await world.pod(other)).spec.nodeName, two);
    assert.equal(await world.run(other, `cat /warden-cpi-dev/disks/${disk}/store/content`), 'moved\n');
    await world.call('delete_vm', other);
    await world.call('delete_disk', disk);
  });

  /** Makes a disk of the CPI that is bound to a volume which only the simulated node's zone can reach. */
  async function makeFarVolume(name: string, disk: string): Promise<void> {
    const template = await world.newDisk({ storage_class: '' });
    const reference = { resource: persistentVolumeClaims, namespace: world.namespace, name: template };
    const { metadata, spec } = await world.api.get<KubernetesObject & { spec: object }>(reference);
    await makeVolume(name, {
      claimRef: { namespace: world.namespace, name: disk },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [inZone(silent)] }] } },
    });
    const { labels = {} } = metadata;
    await world.api.create(persistentVolumeClaims, {
      metadata: { name: disk, namespace: world.namespace, labels },
      ...{ spec: { ...spec, volumeName: name } },
    });
    await world.call('delete_disk', template);
  }

  async function makeVolume(name: string, more: object = {}): Promise<void> {
    await world.api.create(persistentVolumes, {
      metadata: { name },
      ...{
        spec: {
          ...{ capacity: { storage: '64Mi' }, accessModes: ['ReadWriteOnce'], storageClassName: '' },
          ...{ persistentVolumeReclaimPolicy: 'Retain', hostPath: { path: '/nonexistent' }, ...more },
        },
      },
    });
  }
});

/** Ignores a missing pod: delete_vm may have requested its deletion already. */
function ignoreNotFound(error: unknown): void {
  if (!isApiError(error, 404)) throw error;
}

const inZone = (zone: string): object => ({
  ...{ key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] },
});
