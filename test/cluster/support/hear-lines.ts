import type { ClusterWorld } from './cluster-world.ts';

/** What a job has to write and sync before a test goes on. */
export const linesBeforeTheEnd = 10;

/** Hears from now on what a job says in a file of its VM, outside of its disk; resolves when it has written some more lines. */
export async function hearLines(
  world: ClusterWorld,
  vm: string,
  { disk, file }: { readonly disk: string; readonly file: string },
): Promise<void> {
  // what came in 200 ms by one write: each passes a shim, containerd, a kubelet and the API server
  const tail = 'exec tail -n 1 -f -s 0.2 ---disable-inotify';
  const follow = `until test -s ${file}; do sleep 0.1; done; ${tail} ${file}`;
  const words = ['exec', vm, '--container', 'bosh', '--', '/bin/sh', '-c', follow];
  await world.acknowledged.follow({ disk, command: world.kubectlCommand(words) }, linesBeforeTheEnd);
}
