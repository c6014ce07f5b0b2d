import { detachFromJob, startWritingJob } from './agent-job.ts';
import { newAgentDisk, newAgentVm } from './agent-vm.ts';
import { assertWhole } from './assert-whole.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { fixedAddress } from './fixed-address.ts';
import type { AgentOutcome } from './outlives-reboot.ts';

/**
 * Calls detach_disk for a disk that the agent has mounted and its job writes to. Whether it rejects or not,
 * the disk must be intact on another node afterwards.
 */
export async function outlivesAgentDetach(world: ClusterWorld, vmOptions: NewVm = {}): Promise<AgentOutcome> {
  const vm = await newAgentVm(world, fixedAddress(world, 'agent', 3), vmOptions);
  const disk = await newAgentDisk(world, vm);
  await startWritingJob(world, vm, disk);
  const isRefused = await detachFromJob(world, vm, disk);
  await assertWhole(world, [disk], { node: await world.otherNode(vm.cid) });
  return { vm, isRefused };
}
