import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Resource } from '../../../src/kubernetes/api.ts';
import {
  networkAttachmentDefinitions,
  persistentVolumeClaims,
  pods,
  volumeSnapshots,
} from '../../../src/kubernetes/resources.ts';
import { holdEnd, holdGrowth } from './hold.ts';
import { recreate, type VerbCase, type VerbWorld } from './verb-world.ts';

type Hold = NonNullable<VerbCase['hold']>;

const endOf =
  (resource: Resource): Hold =>
  ({ world: { api, namespace } }, [name]) =>
    holdEnd(api, { resource, namespace, name: name as string });

const growth: Hold = ({ world: { api, namespace } }, [disk]) => holdGrowth(api, namespace, disk as string);

const services = [{ name: 'killed', selector: 'vm', ports: [{ port: 80, target_port: 8080 }] }];

/** True for a call whose disks are attached by the strategy recreate. */
export const isOfRecreate = ({ row }: VerbCase): boolean => row.endsWith('(recreate)');

export const verbCases: readonly VerbCase[] = [
  {
    ...{ row: 'create_vm', method: 'create_vm', waits: true, readsNothing: true },
    prepare: async (verbs) => verbs.world.vmArguments({ properties: { services } }),
    check: async (verbs, _, result) => verbs.world.call('delete_vm', (result as [string])[0]),
  },
  {
    ...{ row: 'create_vm (recreate)', method: 'create_vm', waits: true, settings: recreate },
    prepare: async (verbs) => verbs.world.vmArguments(),
    check: async (verbs, _, result) => verbs.world.call('delete_vm', (result as [string])[0]),
  },
  {
    ...{ row: 'check_vm', method: 'check_vm' },
    prepare: async (verbs) => [...verbs.world.vmArguments(), verbs.vm],
  },
  {
    ...{ row: 'check_vm (recreate)', method: 'check_vm', settings: recreate },
    prepare: async (verbs) => [...verbs.world.vmArguments(), verbs.vm],
  },
  {
    ...{ row: 'delete_vm', method: 'delete_vm', waits: true, hold: endOf(pods) },
    prepare: async (verbs) => [await verbs.world.newVm({ properties: { services } })],
  },
  {
    ...{ row: 'delete_vm (a disk attached)', method: 'delete_vm', waits: true, hold: endOf(pods) },
    prepare: async (verbs) => {
      const own = await verbs.world.newVm();
      await Promise.all([verbs.attached(own), verbs.attached(own)]);
      return [own];
    },
    check: async (verbs) => {
      const { disks } = await verbs.world.objects();
      await Promise.all(disks.map((disk) => verbs.isKept(disk)));
    },
  },
  {
    ...{ row: 'delete_vm (recreate)', method: 'delete_vm', waits: true, hold: endOf(pods) },
    prepare: async (verbs) => {
      const { result } = await verbs.world.request('create_vm', verbs.world.vmArguments(), {
        settings: recreate,
      });
      return [(result as [string])[0]];
    },
  },
  {
    // The next restart of the container is delayed, and the delay doubles each time.
    ...{ row: 'reboot_vm', method: 'reboot_vm', waits: true, isSlowAgain: true },
    prepare: async (verbs) => [await verbs.world.newVm()],
    check: async (verbs, [own]) => verbs.world.call('delete_vm', own),
  },
  { row: 'describe_vm', method: 'describe_vm', prepare: async (verbs) => [verbs.vm] },
  { row: 'has_vm', method: 'has_vm', prepare: async (verbs) => [verbs.vm] },
  {
    ...{ row: 'set_vm_metadata', method: 'set_vm_metadata' },
    prepare: async (verbs) => [verbs.vm, { deployment: 'cf', custom: randomUUID() }],
    check: async (verbs, [, metadata]) => {
      const text = JSON.stringify((await verbs.world.pod(verbs.vm)).metadata);
      assert.ok(text.includes((metadata as { custom: string }).custom));
    },
  },
  {
    ...{ row: 'create_disk', method: 'create_disk', mayLeave: 'disks', readsNothing: true },
    prepare: async (verbs) => [64, {}, verbs.vm],
    check: async (verbs, _, result) => verbs.world.call('delete_disk', result),
  },
  {
    ...{ row: 'delete_disk', method: 'delete_disk', waits: true, hold: endOf(persistentVolumeClaims) },
    prepare: async (verbs) => [await verbs.filled()],
  },
  { row: 'has_disk', method: 'has_disk', prepare: async () => ['disk-none'] },
  {
    ...{ row: 'attach_disk', method: 'attach_disk', waits: true, writesBeforeItWaits: true },
    prepare: async (verbs) => [verbs.vm, await verbs.world.newDisk({}, verbs.vm)],
    check: async (verbs, [vm, disk]) => isAttached(verbs, vm as string, disk as string),
  },
  {
    ...{ row: 'attach_disk (recreate)', method: 'attach_disk', waits: true },
    prepare: async (verbs) => [verbs.recreated, await verbs.world.newDisk({}, verbs.recreated)],
    check: async (verbs, [vm, disk]) => isAttached(verbs, vm as string, disk as string),
  },
  {
    ...{ row: 'detach_disk', method: 'detach_disk', waits: true },
    prepare: async (verbs) => [verbs.vm, await verbs.attached()],
    check: async (verbs, [, disk]) => verbs.isKept(disk as string),
  },
  {
    ...{ row: 'detach_disk (recreate)', method: 'detach_disk', waits: true },
    prepare: async (verbs) => [verbs.recreated, await verbs.attached(verbs.recreated)],
    check: async (verbs, [, disk]) => verbs.isKept(disk as string),
  },
  {
    ...{ row: 'resize_disk', method: 'resize_disk', waits: true, hold: growth },
    prepare: async (verbs) => [await verbs.filled(), 128],
    check: async (verbs, [disk]) => verbs.isKept(disk as string),
  },
  {
    ...{ row: 'update_disk', method: 'update_disk', waits: true, hold: growth },
    prepare: async (verbs) => [await verbs.filled(), 128, {}],
    check: async (verbs, [disk]) => verbs.isKept(disk as string),
  },
  {
    ...{ row: 'update_disk (into another class)', method: 'update_disk', waits: true },
    prepare: async (verbs) => [await verbs.filled(), 64, { storage_class: verbs.otherClass }],
    check: async (verbs, _, result) => verbs.isKept(result as string),
  },
  {
    ...{ row: 'set_disk_metadata', method: 'set_disk_metadata' },
    prepare: async (verbs) => [await verbs.filled(), { deployment: 'cf' }],
    check: async (verbs, [disk]) => verbs.isKept(disk as string),
  },
  { row: 'get_disks', method: 'get_disks', prepare: async (verbs) => [verbs.vm] },
  {
    ...{ row: 'snapshot_disk', method: 'snapshot_disk', waits: true, mayLeave: 'snapshots' },
    prepare: async (verbs) => [await verbs.filled(), {}],
    check: async (verbs, [disk], result) => {
      await verbs.world.call('delete_snapshot', result);
      await verbs.isKept(disk as string);
    },
  },
  {
    ...{ row: 'delete_snapshot', method: 'delete_snapshot', waits: true, hold: endOf(volumeSnapshots) },
    prepare: async (verbs) => {
      const disk = await verbs.filled();
      const snapshot = await verbs.world.call('snapshot_disk', disk, {});
      await verbs.world.call('delete_disk', disk);
      return [snapshot];
    },
  },
  {
    ...{ row: 'create_network', method: 'create_network' },
    prepare: async () => [network()],
    check: async (verbs, _, result) => verbs.world.call('delete_network', (result as [string])[0]),
  },
  {
    ...{ row: 'delete_network', method: 'delete_network', waits: true },
    hold: endOf(networkAttachmentDefinitions),
    prepare: async (verbs) => {
      const [cid] = await verbs.world.call<[string]>('create_network', network());
      return [cid];
    },
  },
];

/**
 * Asserts that the disk can be written to and keeps the data for the next VM, which gets the disk without a
 * new pod.
 */
async function isAttached(verbs: VerbWorld, vm: string, disk: string): Promise<void> {
  await verbs.fill(disk, vm);
  await verbs.world.call('detach_disk', vm, disk);
  await verbs.isKept(disk);
}

/** Returns another network for each call, because the same definition is the same network. */
function network(): object {
  const network_attachment = { type: 'macvlan', master: 'eth1', mode: 'bridge', name: randomUUID() };
  return {
    ...{ type: 'manual', range: '192.0.2.0/24', gateway: '192.0.2.1' },
    cloud_properties: { network_attachment },
  };
}
