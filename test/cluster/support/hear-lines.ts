import type { ClusterWorld } from './cluster-world.ts';

/** How many lines a job must write and sync before a test continues. */
export const linesBeforeTheEnd = 10;

/**
 * Follows a file in a VM, outside of its disk, in which the job reports its lines. Resolves when the job has
 * written some more lines.
 */
export async function hearLines(
  world: ClusterWorld,
  vm: string,
  { disk, file }: { readonly disk: string; readonly file: string },
): Promise<void> {
  // Sends the lines of 200 ms in one write, because each write passes a shim, containerd, a kubelet and the
  // API server.
  const tail = 'exec tail -n 1 -f -s 0.2 ---disable-inotify';
  const follow = `until test -s ${file}; do sleep 0.1; done; ${tail} ${file}`;
  const words = ['exec', vm, '--container', 'bosh', '--', '/bin/sh', '-c', follow];
  await world.acknowledged.follow({ disk, command: world.kubectlCommand(words) }, linesBeforeTheEnd);
}
