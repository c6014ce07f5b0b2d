import type { ClusterWorld } from './cluster-world.ts';

/**
 * Returns a function that resolves with true if no disk is in the hub of an existing VM. The VM may be
 * deleted before that function is called.
 */
export async function freeHub(world: ClusterWorld, vm: string): Promise<() => Promise<boolean>> {
  const node = await world.nodeOf(vm);
  const { uid = '' } = (await world.pod(vm)).metadata;
  const mounts = ['grep', '-E', `pods/${uid}/.*/disks/`, '/proc/1/mountinfo'];
  return async () => (await node.run(mounts)).exitCode === 1;
}
