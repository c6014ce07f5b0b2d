import { until } from '../../support/until.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { freeHub } from './free-hub.ts';

/**
 * Runs `kubectl delete --force`: the API server deletes the pod before its processes have exited. Resolves
 * when no disk is in its hub any more.
 */
export async function deleteByForce(world: ClusterWorld, vm: string): Promise<void> {
  const isFree = await freeHub(world, vm);
  await world.kubectl('delete', 'pod', vm, '--force', '--grace-period=0');
  await until('the hub to be free', isFree);
}

/**
 * Deletes an attachment pod with `kubectl delete --force`. Resolves when the kubelet has unmounted as much of
 * its volume as it does.
 */
export async function deleteAttachmentByForce(world: ClusterWorld, pod: string): Promise<void> {
  const node = await world.nodeOf(pod);
  const { uid = '' } = (await world.pod(pod)).metadata;
  await world.kubectl('delete', 'pod', pod, '--force', '--grace-period=0');
  const folder = `${world.cluster.kubeletRootDirectory}/pods/${uid}`;
  await until('its folder to go', async () => (await node.run(['test', '-e', folder])).exitCode === 1);
}
