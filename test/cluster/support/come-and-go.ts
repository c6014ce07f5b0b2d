import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { getDisks } from '../../../src/cpi/disk/get-disks.ts';
import { label } from '../../../src/cpi/objects/labels.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import type { SecurityProfile } from '../../../src/cpi/config/profile.ts';
import { type AgentVm, newAgentVm, untilAnswers } from './agent-vm.ts';
import { assertWhole } from './assert-whole.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { fixedAddress } from './fixed-address.ts';

export interface Life {
  /** `kubernetes.attach`. */
  readonly attach: 'recreate' | 'auto';
  /** The number of its fixed address. */
  readonly number: number;
  readonly profile: SecurityProfile;
  /** How many pods the VM has had when both disks are detached. */
  readonly podsBeforeTheEnd: number;
  /**
   * The classes of the first and the second disk. The default is one class that binds at once and one that
   * binds with the pod's node.
   */
  readonly classes?: readonly [DiskClass, DiskClass];
}

/** Runs `comeAndGo` and asserts that both disks are intact. */
export async function comesAndGoes(world: ClusterWorld, life: Life): Promise<void> {
  await assertWhole(world, await comeAndGo(world, life));
}

/** Attaches two disks to a VM with an agent, fills them and detaches them. Returns the disks. */
export async function comeAndGo(
  world: ClusterWorld,
  { attach, number, profile, podsBeforeTheEnd, classes = ['loop', 'loop-wait'] }: Life,
): Promise<readonly string[]> {
  const cloud = world.cloudWith({ attach });
  const [agentId, address] = [randomUUID(), fixedAddress(world, 'recreate', number)];
  const { image } = await world.cluster.stemcellFor(profile);
  const vm = await newAgentVm(world, address, { cloud, image, agentId, properties: { profile } });
  const seen = new Set<string>();
  const disks: string[] = [];
  const look = async (attached: readonly string[]): Promise<void> => {
    await untilAnswers(vm);
    const { metadata, status } = await world.pod(vm.cid);
    seen.add(metadata.uid ?? '');
    assert.equal(metadata.labels?.[label.agentId], agentId);
    assert.equal(status?.podIP, address);
    assert.deepEqual((await getDisks(cloud, [vm.cid])).toSorted(), attached.toSorted());
    assert.deepEqual(((await vm.client.value('list_disk')) as string[]).toSorted(), attached.toSorted());
    for (const disk of attached) {
      const { stdout, stderr } = await world.exec(vm.cid, `cat /warden-cpi-dev/disks/${disk}/store/canary`);
      assert.equal(stdout, `${disk}\n`, `the disk has lost its content: ${stdout}${stderr}`);
    }
  };
  await look([]);
  for (const storageClass of classes) {
    const disk = await world.newDisk(storageClass);
    await attachAndFill(world, { cloud, vm, disk });
    disks.push(disk);
    await look(disks);
  }
  // Detach the last one first: an agent that restarts mounts the disk that it had at its store, which is the
  // first one.
  for (const disk of disks.toReversed()) {
    await vm.client.task('unmount_disk', disk);
    await vm.client.task('remove_persistent_disk', disk);
    await detachDisk(cloud, [vm.cid, disk]);
    await look(disks.slice(0, disks.indexOf(disk)));
  }
  assert.equal(seen.size, podsBeforeTheEnd, 'a pod for each change of the disks, or one for all');
  await deleteVm(cloud, [vm.cid]);
  return disks;
}

async function attachAndFill(
  world: ClusterWorld,
  { cloud, vm, disk }: { readonly cloud: ClusterWorld['cloud']; readonly vm: AgentVm; readonly disk: string },
): Promise<void> {
  const hint = await attachDisk(cloud, [vm.cid, disk]);
  await untilAnswers(vm);
  await vm.client.task('add_persistent_disk', disk, { path: hint });
  await vm.client.task('mount_disk', disk);
  await world.inVm(vm.cid, `cd ${hint} && echo ${disk} > canary && seq 100 > log && sync -f .`);
}
