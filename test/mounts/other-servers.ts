// Runs in the guest: other servers than the suite's Ganesha.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { appendFile, copyFile, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { MountSpec, NfsMountSpec } from '../../src/volumes/driver/mount/mount-command.ts';
import { ShareMounter, type ShareMounterOptions } from '../../src/volumes/driver/mount/share-mounter.ts';
import { startDriver } from '../../src/volumes/driver/start-driver.ts';
import { callerOf, configIn } from '../../src/volumes/driver/testing/test-driver.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);

const silent = new Set<string>();
const passedOn = new Map<string, Set<Socket>>();

/** Starts a server that forwards each connection to the NFS server at `to`, until it is silenced. */
export async function startRelay(host: string, to: string): Promise<void> {
  const sockets = new Set<Socket>();
  passedOn.set(host, sockets);
  const server = createServer((from) => {
    sockets.add(from);
    from.on('close', () => sockets.delete(from));
    if (silent.has(host)) return void from.on('error', () => from.destroy());
    const onward = connect(2049, to);
    from.on('error', () => onward.destroy());
    onward.on('error', () => from.destroy());
    from.pipe(onward).pipe(from);
  });
  await new Promise<void>((resolve) => server.listen(2049, host, resolve));
}

/** Silences the relay at that address: from now on it accepts connections, but never responds. */
function silence(host: string): void {
  silent.add(host);
  for (const socket of passedOn.get(host) ?? []) socket.destroy();
}

/**
 * Mounts nine volumes of the relay at `relay`, which then becomes silent, and one of the server at `host`,
 * whose mount is then removed. When the watchdog has mounted that one again, returns how many trial mounts of
 * the silent server had ended.
 */
export async function watchBesideSilent(relay: string, host: string): Promise<number> {
  const directory = await mkdtemp('/mnt/watch-');
  const log: string[] = [];
  const args = ['-watchInterval', '1s', '-probeTimeout', '2s', '-mountTimeout', '10m'];
  const mounter = new ShareMounter({ mountSeconds: 600, unmountSeconds: 2 });
  const driver = await startDriver(configIn(directory, args), { mounter, out: (line) => log.push(line) });
  const call = callerOf(driver.address);
  const mounted = async (Name: string, server: string): Promise<string> => {
    await call('VolumeDriver.Create', { Name, Opts: { source: `nfs://${server}/plain`, version: '4.0' } });
    const { Err, Mountpoint = '' } = await call('VolumeDriver.Mount', { Name });
    assert.equal(Err, '');
    return Mountpoint;
  };
  const has = (...parts: readonly string[]): boolean =>
    log.some((line) => parts.every((part) => line.includes(part)));
  try {
    await Promise.all(Array.from({ length: 9 }, (_, index) => mounted(`silent-${index}`, relay)));
    const healthy = await mounted('healthy', host);
    silence(relay);
    await until('a trial of the silent server', async () => has('mount-broken', 'silent-'));
    await run('umount', ['-i', '-c', '-l', healthy]);
    await until('the mount of the healthy server', async () => has('mounted-again', 'healthy'));
    return log.filter((line) => line.includes('driver-server.watch"')).length;
  } finally {
    await driver.stop();
    const leftovers = await mounter.listMounts(join(directory, 'mounts'));
    await Promise.all(leftovers.map((path) => mounter.unmount(path, AbortSignal.timeout(60_000))));
  }
}

/**
 * Starts a name server that never responds, begins mounts from four names, and mounts `order`. Returns how
 * many of the four mounts have ended by then.
 */
export async function mountBesideNames(spec: NfsMountSpec, target: string): Promise<number> {
  const requests = new Set<string>();
  const server = createSocket('udp4', (question) => requests.add(question.toString('latin1', 12)));
  await new Promise<void>((resolve) => void server.bind(53, '127.0.0.4', resolve));
  await writeFile('/run/resolv.conf', 'nameserver 127.0.0.4\noptions timeout:30 attempts:5 single-request\n');
  await run('mount', ['--bind', '/run/resolv.conf', '/etc/resolv.conf']);
  const mounter = new ShareMounter({ mountSeconds: 600 });
  const stop = new AbortController();
  let ended = 0;
  const others = Array.from({ length: 4 }, async (_, index) => {
    const path = `${target}-${index}`;
    await mkdir(path);
    const other = { ...spec, host: `silent-${index}.example` };
    await assert.rejects(mounter.mount(other, path, stop.signal));
    ended += 1;
  });
  try {
    await until('questions for two names', async () => requests.size >= 2);
    await mounter.mount(spec, target, AbortSignal.timeout(60_000));
    return ended;
  } finally {
    stop.abort();
    await Promise.all(others);
    await run('umount', ['/etc/resolv.conf']);
    server.close();
  }
}

/** Adds a name to the guest's /etc/hosts. */
export async function nameHost(line: string): Promise<void> {
  await copyFile('/etc/hosts', '/run/hosts');
  await appendFile('/run/hosts', `${line}\n`);
  await run('mount', ['--bind', '/run/hosts', '/etc/hosts']);
}

/**
 * Starts the kernel's own NFS server on 127.0.0.1, with the exports /mnt/server/plain and
 * /mnt/server/private. Its mountd follows links.
 */
export async function startKernelServer(): Promise<void> {
  for (const directory of ['plain/folder', 'private'])
    await mkdir(`/mnt/server/${directory}`, { recursive: true });
  await run('mount', ['-t', 'tmpfs', 'tmpfs', '/mnt/server']);
  for (const directory of ['plain/folder', 'private'])
    await mkdir(`/mnt/server/${directory}`, { recursive: true });
  await symlink('/mnt/server/private', '/mnt/server/plain/link');
  const options = '*(rw,insecure,no_subtree_check,no_root_squash,fsid=';
  await writeFile('/run/exports', `/mnt/server/plain ${options}11)\n/mnt/server/private ${options}12)\n`);
  await run('mount', ['--bind', '/run/exports', '/etc/exports']);
  await run('mount', ['-t', 'nfsd', 'nfsd', '/proc/fs/nfsd']);
  for (const file of ['etab', 'rmtab']) await writeFile(`/var/lib/nfs/${file}`, '');
  for (const command of [['exportfs', '-ra'], ['rpc.mountd'], ['rpc.nfsd', '-H', '127.0.0.1', '2']] as const)
    await run(command[0], command.slice(1));
}

/** Makes links in a mounted share to a directory whose path is longer than a page. */
export async function makeDeepLink(share: string): Promise<void> {
  const path = Array.from({ length: 9 }, () => 'n'.repeat(250)).join('/');
  await mkdir(`${share}/${path}`, { recursive: true });
  await symlink(path, `${share}/deep`);
  await mkdir(`${share}/deep/${path}`, { recursive: true });
  await symlink(path, `${share}/deep/deeper`);
}

/** Mounts with other options than the suite's mounter. */
export const mountWith = (options: ShareMounterOptions, spec: MountSpec, target: string): Promise<void> =>
  new ShareMounter(options).mount(spec, target, AbortSignal.timeout(60_000));

/** Returns source and address of the NFS mounts at `path`, from /proc/self/mounts. */
export async function mountedFrom(path: string): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/mounts', 'utf8')).split('\n');
  return lines
    .map((line) => line.split(' '))
    .filter(([, target]) => target === path)
    .map(([source, , , options]) => `${source} ${/\baddr=([^,]*)/u.exec(options ?? '')?.[1]}`);
}
