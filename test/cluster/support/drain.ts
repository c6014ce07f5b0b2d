import type { ClusterWorld } from './cluster-world.ts';

/**
 * Runs `kubectl drain` for a VM's node and then makes the node schedulable again. Returns kubectl's output.
 */
export async function drain(world: ClusterWorld, vm: string): Promise<string> {
  const node = await world.nodeNameOf(vm);
  try {
    return await world.kubectl('drain', node, '--force', '--delete-emptydir-data', '--ignore-daemonsets');
  } finally {
    await world.kubectl('uncordon', node);
  }
}
