// Runs in the guest: servers beside the suite's Ganesha.
import { execFile } from 'node:child_process';
import { appendFile, copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { promisify } from 'node:util';
import type { MountOrder } from '../../src/volumes/driver/mount/mount-order.ts';
import type { ShareMounterOptions } from '../../src/volumes/driver/mount/share-mounter.ts';
import { ShareMounter } from '../../src/volumes/driver/mount/share-mounter.ts';

const run = promisify(execFile);

/** A server that passes each connection on to the NFS server at `to`. */
export async function startRelay(host: string, to: string): Promise<void> {
  const server = createServer((from) => {
    const onward = connect(2049, to);
    from.on('error', () => onward.destroy());
    onward.on('error', () => from.destroy());
    from.pipe(onward).pipe(from);
  });
  await new Promise<void>((resolve) => server.listen(2049, host, resolve));
}

/** Lets the guest resolve a name. */
export async function nameHost(line: string): Promise<void> {
  await copyFile('/etc/hosts', '/run/hosts');
  await appendFile('/run/hosts', `${line}\n`);
  await run('mount', ['--bind', '/run/hosts', '/etc/hosts']);
}

/**
 * The kernel's own NFS server on 127.0.0.1, with the exports /mnt/server/plain and /mnt/server/private. Its
 * mountd follows links.
 */
export async function startKernelServer(): Promise<void> {
  for (const folder of ['plain/folder', 'private']) await mkdir(`/mnt/server/${folder}`, { recursive: true });
  await run('mount', ['-t', 'tmpfs', 'tmpfs', '/mnt/server']);
  for (const folder of ['plain/folder', 'private']) await mkdir(`/mnt/server/${folder}`, { recursive: true });
  await symlink('/mnt/server/private', '/mnt/server/plain/link');
  const options = '*(rw,insecure,no_subtree_check,no_root_squash,fsid=';
  await writeFile('/run/exports', `/mnt/server/plain ${options}11)\n/mnt/server/private ${options}12)\n`);
  await run('mount', ['--bind', '/run/exports', '/etc/exports']);
  await run('mount', ['-t', 'nfsd', 'nfsd', '/proc/fs/nfsd']);
  for (const file of ['etab', 'rmtab']) await writeFile(`/var/lib/nfs/${file}`, '');
  for (const words of [['exportfs', '-ra'], ['rpc.mountd'], ['rpc.nfsd', '-H', '127.0.0.1', '2']] as const)
    await run(words[0], words.slice(1));
}

/** Makes links in a mounted share that lead to a folder whose path is longer than a page. */
export async function makeDeepLink(share: string): Promise<void> {
  const path = Array.from({ length: 9 }, () => 'n'.repeat(250)).join('/');
  await mkdir(`${share}/${path}`, { recursive: true });
  await symlink(path, `${share}/deep`);
  await mkdir(`${share}/deep/${path}`, { recursive: true });
  await symlink(path, `${share}/deep/deeper`);
}

/** Mounts with other options than the suite's mounter. */
export const mountWith = (options: ShareMounterOptions, order: MountOrder, target: string): Promise<void> =>
  new ShareMounter(options).mount(order, target, AbortSignal.timeout(60_000));

/** Source and address of the NFS mounts at `path`, as the kernel has them. */
export async function mountedFrom(path: string): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/mounts', 'utf8')).split('\n');
  return lines
    .map((line) => line.split(' '))
    .filter(([, target]) => target === path)
    .map(([source, , , options]) => `${source} ${/\baddr=([^,]*)/u.exec(options ?? '')?.[1]}`);
}
