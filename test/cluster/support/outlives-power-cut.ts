import assert from 'node:assert/strict';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import type { EventRecord } from '../../../src/kubernetes/describe-pod.ts';
import { events } from '../../../src/kubernetes/resources.ts';
import { until } from '../../support/until.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { assertWhole } from './assert-whole.ts';
import { type DiskSubject, writingVm } from './disk-subject.ts';

/**
 * Cuts a node's power while a job writes. After the restart the attachment pod starts before the VM's hub is
 * mounted. `back` runs when the VM runs again and detaches the disk. The disk must be intact on another node
 * afterwards.
 */
export async function outlivesPowerCut(
  world: ClusterWorld,
  back: (subject: DiskSubject) => Promise<unknown>,
  vmOptions: NewVm = {},
): Promise<void> {
  const subject = await writingVm(world, ['loop'], vmOptions);
  const { vm, disks } = subject;
  const [disk = ''] = disks;
  const { uid } = (await world.pod(vm)).metadata;
  const node = await world.nodeOf(vm);
  const other = await world.otherNode(vm);
  await node.stop();
  await node.start(() => attachmentFirst(world, disk));
  await until('the VM to run again', () => runsAgain(world, vm));
  assert.equal((await world.pod(vm)).metadata.uid, uid);
  await back(subject);
  await assertWhole(world, disks, { node: other });
  await deleteVm(world.cloud, [vm]);
}

/**
 * Waits, before a node mounts the hubs of its VMs, until the attachment pod was rejected or has mounted its
 * disk onto what is there.
 */
export async function attachmentFirst(world: ClusterWorld, disk: string): Promise<void> {
  await until('the attachment to be refused, or to bind', () => hadItsTurn(world, `attach-${disk}`));
}

async function hadItsTurn(world: ClusterWorld, attachment: string): Promise<boolean> {
  const { items } = await world.api.list<EventRecord>(events, { namespace: world.namespace });
  const refused = items.some(
    ({ involvedObject, message = '' }) =>
      involvedObject?.name === attachment && message.includes('hostPath type check failed'),
  );
  return refused || runsAgain(world, attachment);
}

async function runsAgain(world: ClusterWorld, pod: string): Promise<boolean> {
  const [status] = (await world.pod(pod)).status?.containerStatuses ?? [];
  return status?.state?.running !== undefined && (status.restartCount ?? 0) > 0;
}
