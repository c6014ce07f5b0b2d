import { rebootVm } from '../../../src/cpi/vm/reboot-vm.ts';
import { until } from '../../support/until.ts';
import { detachFromJob, restarts, startWritingJob, untilJobWrites } from './agent-job.ts';
import { type AgentVm, newAgentDisk, newAgentVm } from './agent-vm.ts';
import { assertWhole } from './assert-whole.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { fixedAddress } from './fixed-address.ts';
import { killVmContainer } from './kill-vm-container.ts';

export interface Reboot {
  /** Runs first, while the job writes. */
  readonly before?: (vm: AgentVm) => Promise<void>;
  /** Runs after reboot_vm and again after the kill, each time when the job writes again. */
  readonly back?: (vm: AgentVm, disk: string, life: 2 | 3) => Promise<void>;
}

export interface AgentOutcome {
  readonly vm: AgentVm;
  /** True if detach_disk was rejected because the job was writing. */
  readonly isRefused: boolean;
}

/**
 * Calls reboot_vm while a job of our agent writes, and then kills its container. The job must continue each
 * time. detach_disk is called while the job writes, and the disk must be intact on another node afterwards.
 */
export async function outlivesReboot(
  world: ClusterWorld,
  { before, back }: Reboot,
  vmOptions: NewVm = {},
): Promise<AgentOutcome> {
  const vm = await newAgentVm(world, fixedAddress(world, 'agent', 1), vmOptions);
  const disk = await newAgentDisk(world, vm);
  await startWritingJob(world, vm, disk);
  await before?.(vm);
  await rebootVm(vm.cloud, [vm.cid]);
  await untilJobWrites(world, vm, disk);
  await back?.(vm, disk, 2);
  await killVmContainer(world, vm.cid);
  await until('a third life', async () => (await restarts(world, vm)) === 2);
  await untilJobWrites(world, vm, disk);
  await back?.(vm, disk, 3);
  const isRefused = await detachFromJob(world, vm, disk);
  await assertWhole(world, [disk], { node: await world.otherNode(vm.cid) });
  return { vm, isRefused };
}
