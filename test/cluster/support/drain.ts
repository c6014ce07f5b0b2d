import type { ClusterWorld } from './cluster-world.ts';

/** `kubectl drain` for the node of a VM, which takes pods again then. Resolves with what it said. */
export async function drain(world: ClusterWorld, vm: string): Promise<string> {
  const node = await world.nodeNameOf(vm);
  try {
    return await world.kubectl('drain', node, '--force', '--delete-emptydir-data', '--ignore-daemonsets');
  } finally {
    await world.kubectl('uncordon', node);
  }
}
