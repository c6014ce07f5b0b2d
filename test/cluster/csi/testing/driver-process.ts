import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));

/** Returns why drivers cannot run on this machine, or undefined if they can. */
export function driversAreMissing(): string | undefined {
  if (process.getuid?.() !== 0) return 'needs root for mounts and loop devices';
  const programs = ['losetup', 'mkfs.ext4', 'e2fsck', 'resize2fs', 'blkid', 'fsfreeze', 'unshare', 'nsenter'];
  const missing = programs.find((program) => spawnSync(program, ['--version']).error !== undefined);
  if (missing !== undefined) return `needs ${missing} (apt-get install e2fsprogs util-linux)`;
  const probe = spawnSync('losetup', ['--find'], { encoding: 'utf8' });
  return probe.status === 0 ? undefined : `needs loop devices: ${probe.stderr.trim()}`;
}

/** A mount namespace that outlives the driver in it, like a node's. A sleeping process keeps it. */
interface MountNamespace {
  readonly pid: number;
  /** Ends the mount namespace and all its mounts. */
  end(): Promise<void>;
}

export async function openMountNamespace(): Promise<MountNamespace> {
  const args = ['--mount', '--propagation', 'private', 'sh', '-c', 'echo inside; exec sleep infinity'];
  const child = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  if (child.pid === undefined) throw new Error('unshare did not start');
  return { pid: child.pid, end: () => killed(child) };
}

/** main.ts in a mount namespace. */
export class DriverProcess {
  readonly #namespace: MountNamespace;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  constructor(namespace: MountNamespace, args: readonly string[]) {
    this.#namespace = namespace;
    this.#args = args;
  }

  /** Resolves when the driver serves. Rejects with its output if it ends before. */
  async start(): Promise<void> {
    const args = [`--mount=/proc/${this.#namespace.pid}/ns/mnt`, '--', process.execPath, main, ...this.#args];
    const child = spawn('nsenter', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    let complaints = '';
    child.stderr.setEncoding('utf8').on('data', (part: string) => (complaints += part));
    const ended = once(child, 'exit').then(() => {
      throw new Error(`the driver ended: ${complaints}`);
    });
    // The test itself ends a driver that was ready.
    ended.catch(() => undefined);
    const ready = new Promise<void>((resolve) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        if (line.includes('"ready":true')) resolve();
      });
    });
    await Promise.race([ready, ended]);
  }

  /** Sends SIGKILL. Programs that the driver had started continue. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child !== undefined) await killed(child);
  }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
