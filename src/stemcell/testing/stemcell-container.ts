import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const namespaces = ['--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child'];

/** Returns the reason to skip a test that runs a script of the stemcell in a container. */
export function containerIsMissing(): string | false {
  const probe = spawnSync('unshare', [...namespaces, 'mount', '-t', 'tmpfs', 'none', '/mnt']);
  return probe.status === 0 ? false : 'needs user, mount and pid namespaces';
}

/** The programs of this machine, without its daemons. The folder `state` is at /state of the container. */
const container = `set -eu
state=$1 scripts=$2
root=$state/root
mkdir -p "$root"
mount -t tmpfs none "$root"
mkdir -p "$root/usr" "$root/dev" "$root/proc" "$root/run" "$root/etc/ssh" "$root/var/vcap" "$root/state" "$root/tmp"
for name in bin sbin lib lib64; do
  if [ -L "/$name" ]; then cp -P "/$name" "$root/$name"
  elif [ -d "/$name" ]; then mkdir "$root/$name"; mount --rbind "/$name" "$root/$name"; fi
done
mount --rbind /usr "$root/usr"
mount -t tmpfs none "$root/usr/sbin"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --bind "$state" "$root/state"
echo 'root:x:0:0:root:/root:/bin/sh' > "$root/etc/passwd"
echo 'root:x:0:' > "$root/etc/group"
`;

/**
 * Runs a script of the stemcell as PID 1 of a container and returns its output. `prepare` is a shell script
 * that runs before, outside of the container: $root is the container's root, and $state a folder that is at
 * /state in it.
 */
export async function inStemcellContainer(
  script: string,
  { state, prepare }: { readonly state: string; readonly prepare: string },
): Promise<string> {
  const scripts = join(import.meta.dirname, '..', 'root');
  const start = `cp "$scripts/${script}" "$root/script"\nexec chroot "$root" /bin/sh /script\n`;
  const args = [...namespaces, '/bin/sh', '-c', container + prepare + start, 'sh', state, scripts];
  return (await run('unshare', args)).stdout;
}
