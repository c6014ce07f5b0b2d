import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { until } from '../../support/until.ts';
import { detachFromJob, restarts, startWritingJob, untilJobWrites } from './agent-job.ts';
import { type AgentVm, newAgentDisk, newAgentVm } from './agent-vm.ts';
import { assertWhole } from './assert-whole.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { fixedAddress } from './fixed-address.ts';

type Step<T> = (vm: AgentVm, disk: string) => Promise<T>;

export interface AgentPowerCut {
  /** While the node is off. */
  readonly off?: Step<unknown>;
  /** When the node is on, and done before it mounts the hubs of its VMs. */
  readonly beforeHubs?: Step<unknown>;
  /** When the VM's container runs again, and done before the job has to. */
  readonly back?: Step<unknown>;
  /** When the job writes again. */
  readonly writes?: Step<unknown>;
  /** How the disk goes then, and whether detach_disk was refused; `detachFromJob` where nothing is said. */
  readonly take?: Step<boolean>;
}

/**
 * A node loses its power while a job of our agent writes; when it is back the job writes again, detach_disk is asked for
 * meanwhile, and the disk is whole on another node then. Resolves with whether it was refused.
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
