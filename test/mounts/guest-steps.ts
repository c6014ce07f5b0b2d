// Steps that the tests run in the guest. They are few and large, because a new process is slow there.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, mkdir, open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { MountSpec } from '../../src/volumes/driver/mount/mount-command.ts';
import type { MountHealth } from '../../src/volumes/driver/mount/mounter.ts';
import { ShareMounter } from '../../src/volumes/driver/mount/share-mounter.ts';

const mounter = new ShareMounter({ unmountSeconds: 2 });
const opened: FileHandle[] = [];
const waiting: ChildProcess[] = [];

export const mount = (spec: MountSpec, target: string, deadline: number): Promise<void> =>
  mounter.mount(spec, target, AbortSignal.timeout(deadline));

export const unmount = (target: string, deadline: number): Promise<void> =>
  mounter.unmount(target, AbortSignal.timeout(deadline));

export const probe = (target: string, deadlineSeconds: number): Promise<MountHealth> =>
  mounter.probe(target, deadlineSeconds);

export const mounted = (directory: string): Promise<readonly string[]> => mounter.listMounts(directory);

export const makeDirectory = async (path: string): Promise<void> =>
  void (await mkdir(path, { recursive: true, mode: 0o711 }));

/** Runs a shell script of the test as the user of an app's container, and returns what it printed. */
export async function asApp(script: string, directory: string): Promise<string> {
  const user = ['--reuid=2000', '--regid=2000', '--clear-groups'];
  const { stdout } = await promisify(execFile)('setpriv', [...user, 'sh', '-c', script], {
    cwd: directory,
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
  });
  return stdout;
}

export async function holdOpen(path: string): Promise<number> {
  return opened.push(await open(path)) - 1;
}

export const close = async (index: number): Promise<void> => opened[index]?.close();

/** Starts a process that accesses the server of the share. */
export function startWaiting(path: string): void {
  waiting.push(spawn('stat', ['-f', '--', path], { stdio: 'ignore' }));
}

/** Returns how many of these processes still wait after `deadline` milliseconds at most. */
export async function stillWaiting(deadline: number): Promise<number> {
  const runningCount = (): number => waiting.filter((each) => each.exitCode === null).length;
  const late = AbortSignal.timeout(deadline);
  while (runningCount() > 0 && !late.aborted) await pause(20);
  return runningCount();
}

/** Returns the lines of /proc/mounts for `path` and for mounts that belong to it. */
export const mountLines = async (path: string): Promise<readonly string[]> =>
  (await readFile('/proc/self/mounts', 'utf8')).split('\n').filter((line) => line.includes(` ${path}`));

/** Kills the processes of that name with SIGKILL, and returns their number. */
export async function killAll(name: string): Promise<number> {
  const pids = await running(name);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  return pids.length;
}

async function running(name: string): Promise<number[]> {
  const all = (await readdir('/proc')).filter((entry) => /^\d+$/u.test(entry));
  const names = await Promise.all(all.map((pid) => readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')));
  return all.filter((_, index) => names[index] === `${name}\n`).map(Number);
}

/**
 * Mounts in a process that is killed with SIGKILL while mount(8) waits for the server; mount(8) keeps
 * running.
 */
export async function mountInKilledProcess(spec: MountSpec, target: string): Promise<number> {
  const steps = JSON.stringify(join(import.meta.dirname, 'guest-steps.ts'));
  const program = `(await import(${steps})).mount(${JSON.stringify(spec)}, ${JSON.stringify(target)}, 60000)`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  while ((await running('mount.nfs')).length === 0 && child.exitCode === null) await pause(50);
  child.kill('SIGKILL');
  await ended;
  return (await running('mount.nfs')).length;
}
