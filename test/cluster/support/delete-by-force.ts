import { until } from '../../support/until.ts';
import type { ClusterWorld } from './cluster-world.ts';

/** `kubectl delete --force`: the pod leaves the API before its processes are gone. Resolves when no disk is in its hub any more. */
export async function deleteByForce(world: ClusterWorld, vm: string): Promise<void> {
  const node = await world.nodeOf(vm);
  const { uid = '' } = (await world.pod(vm)).metadata;
  await world.kubectl('delete', 'pod', vm, '--force', '--grace-period=0');
  const mounts = ['grep', '-E', `pods/${uid}/.*/disks/`, '/proc/1/mountinfo'];
  await until('the hub to be free', async () => (await node.run(mounts)).exitCode === 1);
}
