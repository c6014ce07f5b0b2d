import { startCountingJob } from '../../../src/agent/testing/counting-job.ts';
import { reaches } from '../../../src/agent/testing/specs.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { type AgentVm, untilAnswers } from './agent-vm.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { hearLines } from './hear-lines.ts';
import { isBusy } from './is-busy.ts';

/** Where the job says which line is on the disk: outside of it, and it outlives the container. */
const acknowledged = '/var/vcap/data/acknowledged';

/**
 * Appends numbered lines and syncs each. Started again it goes on after the last that is on the disk or that it has acknowledged:
 * on an empty store, too, and then those before are missing.
 */
const writer = `cd /var/vcap/store
  trap "exit 0" TERM
  i=$(wc -l < log || echo 0)
  told=$(tail -n 1 ${acknowledged} || echo 0)
  [ "\${told:-0}" -le "$i" ] || i=$told
  while i=$((i + 1)); echo $i >> log && sync -d log; do echo $i >> ${acknowledged}; sleep 0.1; done`;

/** Applies and starts a job that writes to the disk that the agent has mounted; resolves when some lines are written and synced. */
export async function startWritingJob(world: ClusterWorld, vm: AgentVm, disk: string): Promise<void> {
  await world.inVm(vm.cid, `cd /var/vcap/store && echo ${disk} > canary && sync -f .`);
  await startCountingJob(vm.client, writer);
  await hearLines(world, vm.cid, { disk, file: acknowledged });
}

/** Waits until the agent of a VM that was down answers, and its job has written on. */
export async function untilJobWrites(world: ClusterWorld, vm: AgentVm, disk: string): Promise<void> {
  await untilAnswers(vm);
  await reaches(vm.client, 'running');
  await hearLines(world, vm.cid, { disk, file: acknowledged });
}

/** How often the job has started. */
export const lives = async (world: ClusterWorld, { cid }: AgentVm): Promise<number> =>
  Number(await world.inVm(cid, 'wc -l < /var/vcap/store/lives'));

/** Of the VM's container; -1 while it does not run. */
export async function restarts(world: ClusterWorld, { cid }: AgentVm): Promise<number> {
  const [status] = (await world.pod(cid)).status?.containerStatuses ?? [];
  return status?.state?.running === undefined ? -1 : (status.restartCount ?? 0);
}

/**
 * detach_disk while the job writes; where it is refused, the job is stopped and the disk detached, as a director has it. Resolves
 * with whether it was.
 */
export async function detachFromJob(
  world: ClusterWorld,
  { cid, client, cloud }: AgentVm,
  disk: string,
): Promise<boolean> {
  const isRefused = await isBusy(detachDisk(cloud, [cid, disk]));
  if (!isRefused) return false;
  await client.task('stop');
  world.acknowledged.hear(disk, Number(await world.inVm(cid, `tail -n 1 ${acknowledged}`)));
  world.acknowledged.end(disk);
  await client.task('unmount_disk', disk);
  await client.task('remove_persistent_disk', disk);
  await detachDisk(cloud, [cid, disk]);
  return true;
}
