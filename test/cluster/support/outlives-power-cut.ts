import assert from 'node:assert/strict';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import type { EventRecord } from '../../../src/kubernetes/pod-words.ts';
import { events } from '../../../src/kubernetes/resources.ts';
import { until } from '../../support/until.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { assertWhole } from './assert-whole.ts';
import { type DiskSubject, writingVm } from './disk-subject.ts';

/**
 * A node loses its power while a job writes; when it is back the attachment has its turn before the VM's hub is mounted.
 * `back` is done when the VM runs again, and takes the disk from it; the disk is whole on another node then.
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

/** What a node waits for before it mounts the hubs of its VMs: the attachment was refused, or has bound to what is there. */
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
