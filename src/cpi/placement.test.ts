import assert from 'node:assert/strict';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { until } from '../../test/support/until.ts';
import { isProductError } from '../errors/product-error.ts';
import type { Node } from '../kubernetes/types/node.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import type { NodeSelectorTerm, Pod } from '../kubernetes/types/pod.ts';
import {
  nodes,
  persistentVolumeClaims,
  pods,
  priorityClasses,
  runtimeClasses,
} from '../kubernetes/resources.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { updateDisk } from './disk/update-disk.ts';
import { label } from './objects/labels.ts';
import { diskInZone, otherClass, whereIs } from './testing/disk-in-zone.ts';
import { type SimulatedWorld, startSimulatedWorld } from './testing/simulated-world.ts';
import { createVmRequest, namesLeft, namespace } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';
import { intersectTerms } from './vm/volume-affinity.ts';

interface Wishes {
  readonly properties?: object;
  readonly env?: object;
  readonly disks?: readonly string[];
}

let count = 0;

async function newVm(
  { cloud }: SimulatedWorld,
  { properties = {}, env = {}, disks = [] }: Wishes,
): Promise<Pod> {
  count += 1;
  const networks = { default: { type: 'dynamic' } };
  const request = createVmRequest({ agentId: `placed-${count}`, networks, properties, env });
  const [name] = await createVm(cloud, { ...request, diskCids: disks });
  return cloud.api.get<Pod>({ resource: pods, namespace, name });
}

const nodeOf = ({ spec }: Pod): string => spec.nodeName ?? '';

/** Makes a disk whose volume is bound, in that zone. */
async function boundDisk(world: SimulatedWorld, zone: string): Promise<string> {
  const vm = await newVm(world, { properties: { zone } });
  await world.addVolume(zone);
  const disk = await createDisk(world.cloud, { sizeMiB: 16, cloudProperties: { storage_class: '' } });
  await attachDisk(world.cloud, { vmCid: vm.metadata.name, diskCid: disk });
  await deleteVm(world.cloud, { vmCid: vm.metadata.name });
  return disk;
}

test('an AZ is a zone, and the message of the scheduler reports a zone without nodes', async (t) => {
  const world = await startSimulatedWorld(t, 3, { deadlines: { schedule: 1 } });
  for (const zone of ['z2', 'z3', 'z1']) {
    assert.equal(nodeOf(await newVm(world, { properties: { zone } })), zone.replace('z', 'sim-'));
  }
  await assert.rejects(
    newVm(world, { properties: { zone: 'z9' } }),
    (error) =>
      isProductError(error, 'VM_CREATION_FAILED') &&
      error.message.includes("node(s) didn't match Pod's node affinity/selector"),
  );
});

test('node_selector and tolerations', async (t) => {
  const world = await startSimulatedWorld(t, 2, { deadlines: { schedule: 1 } });
  const taints = [{ key: 'dedicated', value: 'bosh', effect: 'NoSchedule' as const }];
  await world.cloud.api.patch<Node>(
    { resource: nodes, name: 'sim-2' },
    { metadata: { labels: { pool: 'bosh' } }, spec: { taints } },
  );
  const node_selector = { pool: 'bosh' };
  await assert.rejects(
    newVm(world, { properties: { node_selector } }),
    /untolerated taint \{dedicated: bosh\}/u,
  );
  const tolerations = [{ key: 'dedicated', value: 'bosh', effect: 'NoSchedule' }];
  assert.equal(nodeOf(await newVm(world, { properties: { node_selector, tolerations } })), 'sim-2');
});

test('priority_class and runtime_class: they must exist in the cluster, otherwise the VM is rejected and nothing remains', async (t) => {
  const world = await startSimulatedWorld(t, 2);
  const { api } = world.cloud;
  for (const properties of [{ priority_class: 'high' }, { runtime_class: 'kata' }])
    await assert.rejects(newVm(world, { properties }), (error) =>
      isProductError(error, 'VM_CREATION_FAILED'),
    );
  assert.deepEqual(await namesLeft(world.cluster.api), []);
  await api.create(priorityClasses, { metadata: { name: 'high' }, value: 1000 } as KubernetesObject);
  await api.create(runtimeClasses, { metadata: { name: 'kata' }, handler: 'kata' } as KubernetesObject);
  const { spec } = await newVm(world, { properties: { priority_class: 'high', runtime_class: 'kata' } });
  assert.equal(spec.priority, 1000);
  assert.equal(spec.runtimeClassName, 'kata');
});

test('VMs of one group spread over nodes and zones, and more of them than nodes still run', async (t) => {
  const world = await startSimulatedWorld(t, 3);
  // without a zone of its own each VM of the group would go to the node with the fewest VMs
  for (const zone of ['z1', 'z2', 'z1', 'z2', 'z1', 'z2'])
    await newVm(world, { properties: { zone, cpu: 1 } });
  const env = { bosh: { group: 'director-deployment-router' } };
  const first = [await newVm(world, { env }), await newVm(world, { env }), await newVm(world, { env })];
  assert.deepEqual(first.map(nodeOf).toSorted(), ['sim-1', 'sim-2', 'sim-3']);
  const more = [await newVm(world, { env }), await newVm(world, { env }), await newVm(world, { env })];
  assert.deepEqual(more.map(nodeOf).toSorted(), ['sim-1', 'sim-2', 'sim-3']);
});

test('within an AZ the group spreads over its nodes', async (t) => {
  const world = await startSimulatedWorld(t, 2);
  await world.cloud.api.patch(
    { resource: nodes, name: 'sim-2' },
    { metadata: { labels: { 'topology.kubernetes.io/zone': 'z1' } } },
  );
  const wishes = { properties: { zone: 'z1' }, env: { bosh: { groups: ['d', 'x', 'd-x-db'] } } };
  const both = [await newVm(world, wishes), await newVm(world, wishes)];
  assert.deepEqual(both.map(nodeOf).toSorted(), ['sim-1', 'sim-2']);
  assert.equal(both[0]?.metadata.labels?.[label.group], 'd-x-db');
});

test('groups whose names differ after 63 characters only are two groups', async (t) => {
  const world = await startSimulatedWorld(t, 1);
  const long = 'a-director-with-a-long-name-and-a-deployment-with-a-longer-name-';
  const labels = new Set<string | undefined>();
  for (const group of [`${long}router`, `${long}cell`, `${long}router`]) {
    const { metadata, spec } = await newVm(world, { env: { bosh: { group } } });
    const value = metadata.labels?.[label.group] ?? '';
    labels.add(value);
    assert.ok(value.length <= 63);
    const [term] = spec.affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    assert.deepEqual(term?.podAffinityTerm.labelSelector, { matchLabels: { [label.group]: value } });
    assert.deepEqual(
      spec.topologySpreadConstraints?.map(({ labelSelector }) => labelSelector?.matchLabels?.[label.group]),
      [value, value],
    );
  }
  assert.equal(labels.size, 2);
});

test('a VM goes to where the volumes of its disks are', async (t) => {
  const world = await startSimulatedWorld(t, 3);
  const disk = await boundDisk(world, 'z3');
  const vm = await newVm(world, { disks: [disk] });
  assert.equal(nodeOf(vm), 'sim-3');
  await attachDisk(world.cloud, { vmCid: vm.metadata.name, diskCid: disk });
});

test('the previous cid of a replaced disk finds the zone of its replacement', async (t) => {
  const world = await startSimulatedWorld(t, 3);
  const copy = await boundDisk(world, 'z3');
  const former = `disk-${randomUUID()}`;
  await world.cloud.api.patch(
    { resource: persistentVolumeClaims, namespace, name: copy },
    { metadata: { labels: { [label.replaces]: former } } },
  );
  assert.equal(nodeOf(await newVm(world, { disks: [former] })), 'sim-3');
});

test('a zone without the disk is rejected before anything is created', async (t) => {
  const world = await startSimulatedWorld(t, 2);
  const disk = await boundDisk(world, 'z2');
  await assert.rejects(
    newVm(world, { properties: { zone: 'z1' }, disks: [disk] }),
    (error) =>
      isProductError(error, 'VM_CREATION_FAILED') &&
      error.message.includes(disk) &&
      error.message.includes("'z2'"),
  );
  assert.deepEqual(await namesLeft(world.cluster.api), [`persistentvolumeclaims ${disk}`]);
});

test('a disk that waits for its first consumer, or does not exist, sets no zone', async (t) => {
  const world = await startSimulatedWorld(t, 2);
  const waiting = await createDisk(world.cloud, { sizeMiB: 16, cloudProperties: { storage_class: 'local' } });
  const vm = await newVm(world, { properties: { zone: 'z2' }, disks: [waiting, 'disk-none', 'garbage'] });
  assert.equal(vm.spec.affinity?.nodeAffinity, undefined);
  await attachDisk(world.cloud, { vmCid: vm.metadata.name, diskCid: waiting });
  await until('the claim to be bound on the node of the VM', async () => {
    const next = await newVm(world, { disks: [waiting] });
    return nodeOf(next) === 'sim-2';
  });
});

test('a copy that waits for its first consumer is made in the zone of its disk, also where that has tainted nodes only', async (t) => {
  const world = await startSimulatedWorld(t, 3);
  const disk = await diskInZone(world, 'z2');
  const taints = [{ key: 'dedicated', value: 'bosh', effect: 'NoSchedule' as const }];
  await world.cloud.api.patch<Node>({ resource: nodes, name: 'sim-2' }, { spec: { taints } });
  const copy = await updateDisk(world.cloud, {
    diskCid: disk,
    sizeMiB: 16,
    cloudProperties: { storage_class: otherClass },
  });
  assert.ok(copy !== null && copy !== disk);
  assert.deepEqual(await whereIs(world, copy), { scheduled: 'sim-2', reachedFrom: ['sim-2'] });
});

test('terms of several volumes: a node matches the product if it matches each of them', () => {
  const values = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1 });
  const term = fc.record({ zone: values, host: values }).map(({ zone, host }): NodeSelectorTerm => ({
    matchExpressions: [
      { key: 'zone', operator: 'In', values: zone },
      { key: 'host', operator: 'In', values: host },
    ],
  }));
  const wishes = fc.array(fc.array(term, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 });
  const labels = fc.record({ zone: fc.constantFrom('a', 'b', 'c'), host: fc.constantFrom('a', 'b', 'c') });
  const meets = (terms: readonly NodeSelectorTerm[], node: Record<string, string>): boolean =>
    terms.some(({ matchExpressions = [] }) =>
      matchExpressions.every(({ key, values: wanted = [] }) => wanted.includes(node[key] ?? '')),
    );
  fc.assert(
    fc.property(wishes, labels, (all, node) => {
      assert.equal(
        meets(intersectTerms(all), node),
        all.every((terms) => meets(terms, node)),
      );
    }),
  );
});
