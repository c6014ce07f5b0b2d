import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { until } from '../../support/until.ts';
import { detachFromJob, restarts, startWritingJob, untilJobWrites } from './agent-job.ts';
import { type AgentVm, newAgentDisk, newAgentVm } from './agent-vm.ts';
import { assertWhole } from './assert-whole.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { fixedAddress } from './fixed-address.ts';

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
export async function outlivesAgentPowerCut(
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
  await assertWhole(world, [disk], { node: other });
  await deleteVm(world.cloud, [vm.cid]);
  return isRefused;
}
