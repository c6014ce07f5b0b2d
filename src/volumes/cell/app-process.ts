import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { ProductError } from '../../errors/product-error.ts';
import type { HiddenDirectories, Plan, MountResult, PlannedVolume } from './namespace-init/plan.ts';
import { planDescriptor } from './namespace-init/plan.ts';
import { runCellProgram } from './run-program.ts';

export interface AppSpec {
  readonly command: readonly string[];
  readonly uid: number;
  readonly gid: number;
  /** An absolute path without links. */
  readonly root: string;
  readonly hidden: HiddenDirectories;
}

const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** A bundle (scripts/build.ts), because Node runs no TypeScript below node_modules. */
const namespaceInit = join(import.meta.dirname, '..', '..', '..', 'dist', 'volumes', 'namespace-init.mjs');
/** PID 1 of the app's pid namespace: a shell that waits for the app and reaps orphaned processes. */
const init = '"$@" <&0 & wait "$!"';

/**
 * An app in its own mount and pid namespaces. It ends when the process that started it ends in any way, and
 * its mounts end with it.
 */
export class AppProcess {
  readonly #order: AppSpec;
  readonly #child: ChildProcess;
  /** Resolves with the exit code, which is 128 plus the number of the signal if a signal ended the app. */
  readonly exited: Promise<number>;

  private constructor(spec: AppSpec, child: ChildProcess) {
    this.#order = spec;
    this.#child = child;
    this.exited = new Promise((resolve) => {
      child.once('error', () => resolve(127));
      child.once('exit', (code) => resolve(code ?? 137));
    });
  }

  /**
   * Starts the app with its volumes. Rejects with CONTAINER_FAILED if that fails or takes more than
   * `seconds`; then no process of the app is running.
   */
  static async start(spec: AppSpec, volumes: readonly PlannedVolume[], seconds: number): Promise<AppProcess> {
    const namespaces = ['--mount', '--propagation', 'slave', '--pid', '--fork', '--kill-child'];
    const child = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', '--', 'unshare', ...namespaces, '--', process.execPath, namespaceInit],
      {
        stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
        env: { PATH: searchPath, LC_ALL: 'C' },
        detached: true,
      },
    );
    const app = new AppProcess(spec, child);
    const { root, hidden } = spec;
    const plan = { root, hidden, volumes, command: commandOf(spec), environment: { PATH: searchPath } };
    const error = await sendPlan(child, plan, seconds);
    if (error === undefined) return app;
    child.kill('SIGKILL');
    throw new ProductError(
      'CONTAINER_FAILED',
      `the app was not started: ${error}; its volumes are unmounted; correct the error and start the app again`,
    );
  }

  /**
   * Binds volumes that the driver has mounted again over the app's previous mounts. Returns an error text, or
   * undefined on success.
   */
  async rebind(volumes: readonly PlannedVolume[], seconds: number): Promise<string | undefined> {
    const child = spawn(
      'nsenter',
      [...this.#namespaces(['mnt', 'pid']), '--', process.execPath, namespaceInit],
      {
        stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
        env: { PATH: searchPath, LC_ALL: 'C' },
        detached: true,
      },
    );
    const { root, hidden } = this.#order;
    const plan = { root, hidden, volumes, command: undefined, environment: {} };
    const error = await sendPlan(child, plan, seconds);
    if (error !== undefined) child.kill('SIGKILL');
    return error;
  }

  /** Sends SIGTERM to all processes of the app. Returns an error text, or undefined on success. */
  async terminate(seconds: number): Promise<string | undefined> {
    // uses the shell's kill, because the kill of procps rejects -1
    const signalCommand = ['sh', '-c', 'kill -TERM -1'];
    const args = [...this.#namespaces(['pid']), '--', ...signalCommand];
    const { failure, signal } = await runCellProgram('nsenter', args, seconds);
    // if the app ends at once, the kernel kills all processes of its namespace, this command too
    return signal === 'SIGKILL' ? undefined : failure;
  }

  /** Sends SIGKILL to all processes of the app. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Returns true if the app ends within `seconds`. */
  async waitForExit(seconds: number): Promise<boolean> {
    const timer = new AbortController();
    try {
      return await Promise.race([
        this.exited.then(() => true),
        delay(seconds * 1000, false, { signal: timer.signal }),
      ]);
    } finally {
      timer.abort();
    }
  }

  #namespaces(kinds: readonly ('mnt' | 'pid')[]): readonly string[] {
    const of = `/proc/${this.#child.pid}/ns`;
    return kinds.map((kind) => (kind === 'mnt' ? `--mount=${of}/mnt` : `--pid=${of}/pid_for_children`));
  }
}

/**
 * Returns the command that starts the app as its user. It drops the capabilities of root and sets
 * no_new_privs, so that no program gives them back.
 */
function commandOf({ command, uid, gid }: Pick<AppSpec, 'command' | 'uid' | 'gid'>): readonly string[] {
  const limits = [
    '--no-new-privs',
    '--inh-caps',
    '-all',
    '--bounding-set',
    '-all,+sys_chroot,+setuid,+setgid',
  ];
  const become = ['chroot', `--userspec=+${uid}:+${gid}`, '--groups=', '.'];
  return ['/bin/sh', '-c', init, 'sh', 'setpriv', ...limits, '--', ...become, ...command];
}

/** Sends a plan and waits for the result. Returns an error text, or undefined on success. */
async function sendPlan(child: ChildProcess, plan: Plan, seconds: number): Promise<string | undefined> {
  const channel = child.stdio[planDescriptor] as Duplex;
  const timer = new AbortController();
  const late = delay(seconds * 1000, `it did not finish within ${seconds} seconds`, { signal: timer.signal });
  const failed = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
  });
  const answered = readLine(channel).then((line) => {
    if (line === '') return 'the process in its namespaces ended too early; see its output';
    return (JSON.parse(line) as MountResult).error ?? undefined;
  });
  try {
    channel.write(`${JSON.stringify(plan)}\n`);
    return await Promise.race([answered, failed, late]);
  } finally {
    timer.abort();
    channel.destroy();
  }
}

/** Reads one line. Returns '' if the other side closes before the line is complete. */
async function readLine(channel: Duplex): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    channel.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.endsWith('\n')) resolve(text);
    });
    for (const event of ['end', 'error', 'close']) channel.once(event, () => resolve(''));
  });
}
