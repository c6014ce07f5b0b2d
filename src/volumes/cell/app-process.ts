import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { ProductError } from '../../errors/product-error.ts';
import type { HiddenFolders, Plan, MountResult, PlannedVolume } from './inside/plan.ts';
import { planDescriptor } from './inside/plan.ts';
import { runProgram } from './run-program.ts';

export interface AppSpec {
  readonly command: readonly string[];
  readonly uid: number;
  readonly gid: number;
  /** An absolute path without links. */
  readonly root: string;
  readonly hidden: HiddenFolders;
}

const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const namespaceInit = join(import.meta.dirname, 'inside', 'main.ts');
/** PID 1 of the app: waits for it, and for processes that lost their parent. */
const init = '"$@" <&0 & wait "$!"';

/**
 * An app in a mount and a pid namespace of its own. It ends with the process that started it, however that
 * ends, and its mounts end with it.
 */
export class AppProcess {
  readonly #order: AppSpec;
  readonly #child: ChildProcess;
  /** With the exit code; 128 and the signal where one ended it. */
  readonly exited: Promise<number>;

  private constructor(order: AppSpec, child: ChildProcess) {
    this.#order = order;
    this.#child = child;
    this.exited = new Promise((resolve) => {
      child.once('error', () => resolve(127));
      child.once('exit', (code) => resolve(code ?? 137));
    });
  }

  /**
   * Starts the app with its volumes. CONTAINER_FAILED, and nothing of it runs, where that is not done in
   * time.
   */
  static async start(
    order: AppSpec,
    volumes: readonly PlannedVolume[],
    seconds: number,
  ): Promise<AppProcess> {
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
    const app = new AppProcess(order, child);
    const { root, hidden } = order;
    const plan = { root, hidden, volumes, command: commandOf(order), environment: { PATH: searchPath } };
    const error = await sendPlan(child, plan, seconds);
    if (error === undefined) return app;
    child.kill('SIGKILL');
    throw new ProductError(
      'CONTAINER_FAILED',
      `the app was not started: ${error}; its volumes are unmounted, correct that and start it again`,
    );
  }

  /**
   * Binds volumes that the driver mounted anew over what the app has; resolves with what went wrong, or
   * undefined.
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

  /** SIGTERM to all processes of the app. */
  async terminate(seconds: number): Promise<string | undefined> {
    // that of procps refuses -1
    const signalCommand = ['sh', '-c', 'kill -TERM -1'];
    return runProgram('nsenter', [...this.#namespaces(['pid']), '--', ...signalCommand], seconds);
  }

  /** SIGKILL to all of them. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Whether it has ended by then. */
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

/** The app keeps no right of root's, and no program gives it one. */
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

/** Sends a plan and waits for the answer; what went wrong, or undefined. */
async function sendPlan(child: ChildProcess, plan: Plan, seconds: number): Promise<string | undefined> {
  const channel = child.stdio[planDescriptor] as Duplex;
  const timer = new AbortController();
  const late = delay(seconds * 1000, `it was not done after ${seconds} seconds`, { signal: timer.signal });
  const failed = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
  });
  const answered = readLine(channel).then((line) => {
    if (line === '') return 'the process in its namespaces ended before it was done; see its output';
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

/** '' where the other side closes before a line is whole. */
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
