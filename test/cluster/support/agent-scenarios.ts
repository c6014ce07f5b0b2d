import assert from 'node:assert/strict';
import { rebootVm } from '../../../src/cpi/vm/reboot-vm.ts';
import { until } from '../../support/until.ts';
import {
  detachFromJob,
  restarts,
  startWritingJob,
  untilJobWrites,
  type AgentVm,
  newAgentDisk,
  newAgentVm,
  untilAnswers,
} from './agent-vm.ts';
import { assertIntact } from './assert-intact.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { fixedAddress } from './fixed-address.ts';
import { killVmContainer } from './vm-actions.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { randomUUID } from 'node:crypto';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { getDisks } from '../../../src/cpi/disk/get-disks.ts';
import { label } from '../../../src/cpi/objects/labels.ts';
import type { SecurityProfile } from '../../../src/cpi/config/profile.ts';
import type { DiskClass } from './cluster-under-test.ts';

interface Reboot {
  /** Runs first, while the job writes. */
  readonly before?: (vm: AgentVm) => Promise<void>;
  /** Runs after reboot_vm and again after the kill, each time when the job writes again. */
  readonly back?: (vm: AgentVm, disk: string, life: 2 | 3) => Promise<void>;
}

interface AgentOutcome {
  readonly vm: AgentVm;
  /** True if detach_disk was rejected because the job was writing. */
  readonly isRefused: boolean;
}

/**
 * Calls reboot_vm while a job of our agent writes, and then kills its container. The job must continue each
 * time. detach_disk is called while the job writes, and the disk must be intact on another node afterwards.
 */
export async function survivesReboot(
  world: ClusterWorld,
  { before, back }: Reboot,
  vmOptions: NewVm = {},
): Promise<AgentOutcome> {
  const vm = await newAgentVm(world, fixedAddress(world, 'agent', 1), vmOptions);
  const disk = await newAgentDisk(world, vm);
  await startWritingJob(world, vm, disk);
  await before?.(vm);
  await rebootVm(vm.cloud, { vmCid: vm.cid });
  await untilJobWrites(world, vm, disk);
  await back?.(vm, disk, 2);
  await killVmContainer(world, vm.cid);
  await until('a third life', async () => (await restarts(world, vm)) === 2);
  await untilJobWrites(world, vm, disk);
  await back?.(vm, disk, 3);
  const isRefused = await detachFromJob(world, vm, disk);
  await assertIntact(world, [disk], { node: await world.otherNode(vm.cid) });
  return { vm, isRefused };
}

/**
 * Calls detach_disk for a disk that the agent has mounted and its job writes to. Whether it rejects or not,
 * the disk must be intact on another node afterwards.
 */
export async function survivesAgentDetach(world: ClusterWorld, vmOptions: NewVm = {}): Promise<AgentOutcome> {
  const vm = await newAgentVm(world, fixedAddress(world, 'agent', 3), vmOptions);
  const disk = await newAgentDisk(world, vm);
  await startWritingJob(world, vm, disk);
  const isRefused = await detachFromJob(world, vm, disk);
  await assertIntact(world, [disk], { node: await world.otherNode(vm.cid) });
  return { vm, isRefused };
}

type Step<T> = (vm: AgentVm, disk: string) => Promise<T>;

export interface AgentPowerCut {
  /** Runs while the node is off. */
  readonly off?: Step<unknown>;
  /** Runs when the node is on. The node waits for its end before it mounts the hubs of its VMs. */
  readonly beforeHubs?: Step<unknown>;
  /** Runs when the VM's container runs again. Its end is awaited before the job has to run. */
  readonly back?: Step<unknown>;
  /** Runs when the job writes again. */
  readonly writes?: Step<unknown>;
  /** Detaches the disk and returns true if detach_disk was rejected. The default is `detachFromJob`. */
  readonly take?: Step<boolean>;
}

/**
 * Cuts a node's power while a job of our agent writes. After the restart the job writes again, and
 * detach_disk is called while it does. The disk must be intact on another node afterwards. Returns true if
 * detach_disk was rejected.
 */
export async function survivesAgentPowerCut(
  world: ClusterWorld,
  { off, beforeHubs, back, writes, take }: AgentPowerCut,
  vmOptions: NewVm = {},
): Promise<boolean> {
  const vm = await newAgentVm(world, fixedAddress(world, 'agent', 2), vmOptions);
  const disk = await newAgentDisk(world, vm);
  await startWritingJob(world, vm, disk);
  const node = await world.nodeOf(vm.cid);
  const other = await world.otherNode(vm.cid);
  await node.stop();
  await off?.(vm, disk);
  await node.start(beforeHubs && (async () => void (await beforeHubs(vm, disk))));
  await until('a second life', async () => (await restarts(world, vm)) > 0);
  await back?.(vm, disk);
  const whileItWrites = async (): Promise<boolean> => {
    await untilJobWrites(world, vm, disk);
    await writes?.(vm, disk);
    return detachFromJob(world, vm, disk);
  };
  const isRefused = await (take?.(vm, disk) ?? whileItWrites());
  await assertIntact(world, [disk], { node: other });
  await deleteVm(world.cloud, { vmCid: vm.cid });
  return isRefused;
}

interface AttachDetachCycle {
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

/** Runs `attachDetachCycle` and asserts that both disks are intact. */
export async function survivesAttachDetachCycle(world: ClusterWorld, life: AttachDetachCycle): Promise<void> {
  await assertIntact(world, await attachDetachCycle(world, life));
}

/** Attaches two disks to a VM with an agent, fills them and detaches them. Returns the disks. */
export async function attachDetachCycle(
  world: ClusterWorld,
  { attach, number, profile, podsBeforeTheEnd, classes = ['loop', 'loop-wait'] }: AttachDetachCycle,
): Promise<readonly string[]> {
  const cloud = world.cloudWith({ attach });
  const [agentId, address] = [randomUUID(), fixedAddress(world, 'recreate', number)];
  const { image } = await world.cluster.stemcellFor(profile);
  const vm = await newAgentVm(world, address, { cloud, image, agentId, properties: { profile } });
  const seen = new Set<string>();
  const disks: string[] = [];
  const assertDisks = async (attached: readonly string[]): Promise<void> => {
    await untilAnswers(vm);
    const { metadata, status } = await world.pod(vm.cid);
    seen.add(metadata.uid ?? '');
    assert.equal(metadata.labels?.[label.agentId], agentId);
    assert.equal(status?.podIP, address);
    assert.deepEqual((await getDisks(cloud, { vmCid: vm.cid })).toSorted(), attached.toSorted());
    assert.deepEqual(((await vm.client.value('list_disk')) as string[]).toSorted(), attached.toSorted());
    for (const disk of attached) {
      const { stdout, stderr } = await world.exec(vm.cid, `cat /warden-cpi-dev/disks/${disk}/store/canary`);
      assert.equal(stdout, `${disk}\n`, `the disk has lost its content: ${stdout}${stderr}`);
    }
  };
  await assertDisks([]);
  for (const storageClass of classes) {
    const disk = await world.newDisk(storageClass);
    await attachAndFill(world, { cloud, vm, disk });
    disks.push(disk);
    await assertDisks(disks);
  }
  // Detach the last one first: an agent that restarts mounts the disk that it had at its store, which is the
  // first one.
  for (const disk of disks.toReversed()) {
    await vm.client.task('unmount_disk', disk);
    await vm.client.task('remove_persistent_disk', disk);
    await detachDisk(cloud, { vmCid: vm.cid, diskCid: disk });
    await assertDisks(disks.slice(0, disks.indexOf(disk)));
  }
  assert.equal(seen.size, podsBeforeTheEnd, 'a pod for each change of the disks, or one for all');
  await deleteVm(cloud, { vmCid: vm.cid });
  return disks;
}

async function attachAndFill(
  world: ClusterWorld,
  { cloud, vm, disk }: { readonly cloud: ClusterWorld['cloud']; readonly vm: AgentVm; readonly disk: string },
): Promise<void> {
  const hint = await attachDisk(cloud, { vmCid: vm.cid, diskCid: disk });
  await untilAnswers(vm);
  await vm.client.task('add_persistent_disk', disk, { path: hint });
  await vm.client.task('mount_disk', disk);
  await world.inVm(vm.cid, `cd ${hint} && echo ${disk} > canary && seq 100 > log && sync -f .`);
}
