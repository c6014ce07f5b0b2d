import type { ClusterWorld } from './cluster-world.ts';

/** Tells whether no disk is in the hub of a VM that is there now, and may have gone when it is asked. */
export async function freeHub(world: ClusterWorld, vm: string): Promise<() => Promise<boolean>> {
  const node = await world.nodeOf(vm);
  const { uid = '' } = (await world.pod(vm)).metadata;
  const mounts = ['grep', '-E', `pods/${uid}/.*/disks/`, '/proc/1/mountinfo'];
  return async () => (await node.run(mounts)).exitCode === 1;
}
