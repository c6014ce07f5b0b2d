import { deleteDisk } from '../../../src/cpi/disk/delete-disk.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import type { AgentVm } from './agent-vm.ts';
import type { ClusterWorld } from './cluster-world.ts';

/** How often the job has started. */
export const lives = async (world: ClusterWorld, { cid }: AgentVm): Promise<number> =>
  Number(await world.inVm(cid, 'wc -l < /var/vcap/store/lives'));

/** Of the VM's container; -1 while it does not run. */
export async function restarts(world: ClusterWorld, { cid }: AgentVm): Promise<number> {
  const [status] = (await world.pod(cid)).status?.containerStatuses ?? [];
  return status?.state?.running === undefined ? -1 : (status.restartCount ?? 0);
}

/** The job stopped, the disk detached, both deleted. */
export async function endWith(world: ClusterWorld, { cid, client }: AgentVm, disk: string): Promise<void> {
  await client.task('stop');
  await client.task('unmount_disk', disk);
  await client.task('remove_persistent_disk', disk);
  await detachDisk(world.cloud, [cid, disk]);
  await deleteVm(world.cloud, [cid]);
  await deleteDisk(world.cloud, [disk]);
}
