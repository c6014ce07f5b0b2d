import { startCountingJob } from '../../../src/agent/testing/counting-job.ts';
import { reaches } from '../../../src/agent/testing/specs.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { type AgentVm, untilAnswers } from './agent-vm.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { hearLines } from './hear-lines.ts';
import { isBusy } from './is-busy.ts';

/**
 * The file to which the job writes the number of the last line on the disk. It is outside of the disk and
 * outlives the container.
 */
const acknowledged = '/var/vcap/data/acknowledged';

/**
 * Appends numbered lines and syncs each. After a restart it continues after the last line that is on the disk
 * or that it has acknowledged. On an empty store it does the same, and the earlier lines are then missing.
 */
const writer = `cd /var/vcap/store
  trap "exit 0" TERM
  i=$(wc -l < log || echo 0)
  told=$(tail -n 1 ${acknowledged} || echo 0)
  [ "\${told:-0}" -le "$i" ] || i=$told
  while i=$((i + 1)); echo $i >> log && sync -d log; do echo $i >> ${acknowledged}; sleep 0.1; done`;

/**
 * Applies and starts a job that writes to the disk that the agent has mounted. Resolves when some lines are
 * written and synced.
 */
export async function startWritingJob(world: ClusterWorld, vm: AgentVm, disk: string): Promise<void> {
  await world.inVm(vm.cid, `cd /var/vcap/store && echo ${disk} > canary && sync -f .`);
  await startCountingJob(vm.client, writer);
  await hearLines(world, vm.cid, { disk, file: acknowledged });
}

/** Waits until the agent of a VM that was down responds and its job has continued to write. */
export async function untilJobWrites(world: ClusterWorld, vm: AgentVm, disk: string): Promise<void> {
  await untilAnswers(vm);
  await reaches(vm.client, 'running');
  await hearLines(world, vm.cid, { disk, file: acknowledged });
}

/** Returns how often the job has started. */
export const lives = async (world: ClusterWorld, { cid }: AgentVm): Promise<number> =>
  Number(await world.inVm(cid, 'wc -l < /var/vcap/store/lives'));

/** Returns the restart count of the VM's container, or -1 while it does not run. */
export async function restarts(world: ClusterWorld, { cid }: AgentVm): Promise<number> {
  const [status] = (await world.pod(cid)).status?.containerStatuses ?? [];
  return status?.state?.running === undefined ? -1 : (status.restartCount ?? 0);
}

/**
 * Calls detach_disk while the job writes. If this is rejected, stops the job and detaches the disk, as a
 * director does. Returns true if it was rejected.
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
