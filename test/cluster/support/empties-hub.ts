import { until } from '../../support/until.ts';
import type { ClusterWorld } from './cluster-world.ts';

/**
 * Ends a VM's pod (`remove`) whose hub is a directory of its node, and waits until the kubelet has removed
 * the content of the hub.
 */
export async function emptiesHub(
  world: ClusterWorld,
  vm: string,
  remove: (vm: string) => Promise<unknown>,
): Promise<void> {
  const node = await world.nodeOf(vm);
  const { uid = '' } = (await world.pod(vm)).metadata;
  const hub = `${world.cluster.kubeletRootDirectory}/pods/${uid}/volumes/kubernetes.io~empty-dir/hub`;
  await remove(vm);
  const canaries = ['sh', '-c', 'ls "$0"/disks/*/store/canary', hub];
  await until('the kubelet to empty the hub', async () => (await node.run(canaries)).exitCode !== 0);
}
