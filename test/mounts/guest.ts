import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { childrenOf } from '../support/machine.ts';
import { ganeshaConfiguration, sambaConfiguration } from './server-configuration.ts';

const here = import.meta.dirname;
const bootDeadline = 120_000;

/** Programs with their Debian packages. */
const needed = {
  '/usr/bin/linux.uml': 'user-mode-linux',
  '/sbin/modprobe': 'kmod',
  '/usr/bin/ganesha.nfsd': 'nfs-ganesha',
  '/usr/share/doc/nfs-ganesha-vfs': 'nfs-ganesha-vfs',
  '/sbin/rpcbind': 'rpcbind',
  '/usr/sbin/smbd': 'samba',
  '/sbin/mount.nfs': 'nfs-common',
  '/usr/sbin/rpc.nfsd': 'nfs-kernel-server',
  '/sbin/mount.cifs': 'cifs-utils',
  '/usr/bin/bindfs': 'bindfs',
  '/sbin/ip': 'iproute2',
} as const;

/** The reason why the guest cannot run here, or false. */
export function noGuest(paths: readonly string[] = [here, process.execPath]): string | false {
  const hidden = paths.find((path) => /^\/(?:tmp|run|mnt)\//u.test(path));
  if (hidden !== undefined)
    return `needs ${hidden} outside of /tmp, /run and /mnt, which have other files in the guest`;
  if (process.geteuid?.() !== 0) return 'needs root';
  const missing = Object.entries(needed).filter(([path]) => !existsSync(path));
  if (missing.length > 0) return `needs Debian's packages ${missing.map(([, name]) => name).join(', ')}`;
  if (!existsSync('/dev/net/tun')) return 'needs /dev/net/tun';
  if (hasAmx() && spawnSync('gcc', ['--version']).status !== 0)
    return "needs Debian's packages gcc and libc6-dev, on a processor with AMX";
  return spawnSync('unshare', ['--net', '--mount', 'true']).status !== 0 && 'needs network namespaces';
}

/**
 * Returns true for processors with AMX, whose registers User-Mode Linux cannot handle without help
 * (uml-xstate.c).
 */
const hasAmx = (): boolean => /^flags\b.*\bamx_tile\b/mu.test(readFileSync('/proc/cpuinfo', 'utf8'));

/** The address of the servers as seen from the guest. */
export const serverHost = '192.168.77.1';
/** The user of the SMB share, and its uid, which owns the export `/private`. */
export const shareUser = { name: 'share', uid: 4000, gid: 4000 };

export interface GuestOptions {
  readonly password?: string;
}

/**
 * A User-Mode-Linux guest with this machine's files, and servers of NFS and SMB for it, in their own
 * namespaces. The exports are `/plain` (mode 777), `/private` (700, owned by shareUser) and `/closed` (to no
 * client); the SMB share is `share`.
 */
export class Guest {
  readonly directory: string;
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #calls = 0;

  private constructor(directory: string, child: ChildProcess) {
    this.directory = directory;
    this.#process = child;
    child.on('close', () => {
      for (const waiting of this.#waiting.values()) waiting.reject(new Error('the guest has ended'));
    });
    createInterface({ input: child.stdio[4] as Readable }).on('line', (line) => this.#settle(line));
  }

  static async boot({ password = 'secret' }: GuestOptions = {}): Promise<Guest> {
    const directory = await mkdtemp(join(tmpdir(), 'mounts-'));
    await prepare(directory, password);
    const log = await open(join(directory, 'console.log'), 'w');
    const argv = [join(here, 'namespace.sh'), directory, process.execPath, here];
    const unshare = ['unshare', '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...unshare, 'sh', ...argv], {
      cwd: '/',
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
      stdio: ['ignore', log.fd, log.fd, 'pipe', 'pipe'],
    });
    const guest = new Guest(directory, child);
    await log.close();
    try {
      await guest.#ready();
    } catch (error) {
      const output = await readFile(join(directory, 'console.log'), 'utf8');
      await guest.stop();
      throw new Error(`the guest did not start: ${output.slice(-3000)}`, { cause: error });
    }
    return guest;
  }

  /**
   * Calls a function of guest-steps.ts, or of another module, in the guest. Arguments and result are sent as
   * JSON.
   */
  async call<T>(
    name: string,
    args: readonly unknown[] = [],
    module = join(here, 'guest-steps.ts'),
  ): Promise<T> {
    const id = ++this.#calls;
    const answered = this.#answer(id);
    (this.#process.stdio[3] as Writable).write(`${JSON.stringify({ id, module, name, args })}\n`);
    return answered as Promise<T>;
  }

  /** Sends a signal to each process of `ganesha.nfsd` or `smbd`. */
  async signalServer(program: string, signal: NodeJS.Signals): Promise<void> {
    const pids = await descendantsOf(this.#process.pid ?? 0);
    const names = await Promise.all(pids.map(nameOf));
    for (const [index, pid] of pids.entries())
      if (names[index]?.startsWith(program) === true) process.kill(pid, signal);
  }

  /** Ends the guest and the servers, and removes their files. */
  async stop(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, 'exit');
      // kills the first process of the pid namespace, which ends all others
      for (const pid of await childrenOf(this.#process.pid ?? 0)) process.kill(pid, 'SIGKILL');
      await ended;
    }
    await rm(this.directory, { recursive: true });
  }

  async #ready(): Promise<void> {
    const late = setTimeout(() => this.#process.kill('SIGKILL'), bootDeadline);
    try {
      await this.#answer(0);
    } finally {
      clearTimeout(late);
    }
  }

  #answer(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #settle(line: string): void {
    const { id, value, error } = JSON.parse(line) as {
      id: number;
      value?: unknown;
      error?: { message: string; code?: string };
    };
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(Object.assign(new Error(error.message), { code: error.code }));
  }
}

/** Returns the name of a process, or '' if it has ended. */
async function nameOf(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/comm`, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return '';
    throw error;
  });
}

async function descendantsOf(pid: number): Promise<number[]> {
  const children = await childrenOf(pid);
  return [...children, ...(await Promise.all(children.map(descendantsOf))).flat()];
}

/** Creates the files of the servers: configuration, accounts, shares. */
async function prepare(directory: string, password: string): Promise<void> {
  for (const name of ['plain', 'private', 'closed', 'share', 'nfs-state', 'samba'])
    await mkdir(join(directory, name));
  await chmod(directory, 0o755);
  await chmod(join(directory, 'plain'), 0o777);
  await chmod(join(directory, 'share'), 0o777);
  await chmod(join(directory, 'private'), 0o700);
  await chown(join(directory, 'private'), shareUser.uid, shareUser.gid);
  const account = `${shareUser.name}:x:${shareUser.uid}:${shareUser.gid}::/nonexistent:/bin/false\n`;
  await writeFile(join(directory, 'passwd'), `${await readFile('/etc/passwd', 'utf8')}${account}`);
  await writeFile(join(directory, 'password'), `${password}\n${password}\n`, { mode: 0o600 });
  await writeFile(join(directory, 'ganesha.conf'), ganeshaConfiguration(directory, serverHost));
  await writeFile(join(directory, 'smb.conf'), sambaConfiguration(directory));
  if (hasAmx()) {
    const library = [
      '-shared',
      '-fPIC',
      '-O2',
      '-o',
      join(directory, 'xstate.so'),
      join(here, 'uml-xstate.c'),
    ];
    await promisify(execFile)('gcc', library);
  }
}
