import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdir, readFile, realpath, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../src/errors/product-error.ts';
import { systemClock, type Clock } from '../../src/platform/clock.ts';
import { withoutInheritedState } from '../node/command.ts';
import { besideCluster, checkOwner, isReady } from './cluster-state.ts';
import { checkRequirements } from './check-requirements.ts';
import { unshareArguments, type NamespaceMode } from './namespace-mode.ts';
import { findProcess, isEnding, type ProcessRecord } from './process-record.ts';

export interface DaemonOptions {
  /** The cluster's directory. It is created if it is missing. */
  readonly directory: string;
  /** Contains the Node binary and the agent for the pods. */
  readonly runtimeDirectory: string;
  /** The Node.js binary that runs the cluster. */
  readonly nodeBinary: string;
  /** The cluster's main module, built (cluster-state.ts). */
  readonly main: string;
  /**
   * `NAME=ZONE` each: more Node objects that are this machine and run pods, beside `embedded`. They are
   * permanent. A cluster that runs already keeps its nodes.
   */
  readonly nodes?: readonly string[];
  /** Milliseconds until the API must be ready; 30 s if absent. */
  readonly deadline?: number;
  readonly clock?: Clock;
}

export interface DaemonInfo {
  readonly kubeconfig: string;
  readonly process: ProcessRecord;
  /** False if the cluster ran already. */
  readonly started: boolean;
}

/** The exit code of init.sh if another start of the same cluster was faster. */
const lockedOut = 75;
const largestLog = 10 * 1024 * 1024;
const pollInterval = 20;
const lockInterval = 100;
const defaultDeadline = 30_000;

/**
 * Starts the embedded cluster of this directory in the background, in its own namespaces, and resolves when
 * its API is ready. Idempotent: a cluster that runs is returned unchanged, also one that another process is
 * starting at this moment. Rejects with CLUSTER_UNSUPPORTED if the machine does not allow namespaces, with
 * CLUSTER_START and the end of the log if the cluster dies or is not ready in time, and if the directory
 * belongs to another user.
 */
export async function startDaemon(options: DaemonOptions): Promise<DaemonInfo> {
  await checkOwner(options.directory, 'start');
  await mkdir(join(options.directory, 'logs'), { recursive: true, mode: 0o700 });
  const directory = await realpath(options.directory);
  if ((await findProcess(directory)) !== undefined) {
    const info = await untilReady(directory, { ...options, child: undefined });
    if (info !== undefined) {
      return info;
    }
  }
  const mode = await checkRequirements(directory);
  const log = join(directory, 'logs', 'cluster.log');
  await rotate(log);
  const { deadline = defaultDeadline, clock = systemClock } = options;
  for (const end = clock.now() + deadline; ; await clock.sleep(lockInterval)) {
    const child = launch(directory, log, mode, options);
    const info = await untilReady(directory, { ...options, child });
    if (info !== undefined) {
      return info;
    }
    // The process with the lock has not written its record yet, or it died. Try again: either its record
    // appears, or the lock is free for one of the waiting starts.
    if (child.exitCode !== lockedOut || clock.now() >= end) {
      throw await startError(directory, 'it ended before its API was ready');
    }
  }
}

function launch(directory: string, log: string, mode: NamespaceMode, options: DaemonOptions): ChildProcess {
  const output = openSync(log, 'a', 0o600);
  const command = [
    ...[options.nodeBinary, '--disable-warning=ExperimentalWarning', options.main],
    ...['--directory', directory, '--runtime-directory', options.runtimeDirectory],
    ...(options.nodes ?? []).flatMap((node) => ['--node', node]),
  ];
  const prepare = besideCluster(options.main);
  const script = join(import.meta.dirname, 'init.sh');
  const init = ['/bin/sh', script, directory, options.nodeBinary, prepare, options.runtimeDirectory];
  const start = ['unshare', ...unshareArguments(mode), ...init, ...command] as const;
  const isolated = withoutInheritedState(start, { first: 3, required: true });
  if (isolated === undefined) {
    writeSync(
      output,
      'no perl: pods have the session key ring and the open files of the process that starts the cluster\n',
    );
  }
  const [program, ...args] = isolated ?? start;
  const child = spawn(program, args, {
    // The cluster gets its own session: neither Ctrl-C nor the end of a terminal reaches it.
    detached: true,
    cwd: '/',
    stdio: ['ignore', output, output],
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' },
  });
  closeSync(output);
  child.unref();
  return child;
}

interface ReadinessOptions extends DaemonOptions {
  readonly child: ChildProcess | undefined;
}

/**
 * Waits until the cluster is ready. `undefined`: the cluster ended before. This can be the one that was
 * launched here, or one that was already dying.
 */
async function untilReady(directory: string, options: ReadinessOptions): Promise<DaemonInfo | undefined> {
  const { child, deadline = defaultDeadline, clock = systemClock } = options;
  const end = clock.now() + deadline;
  let failed = false;
  child?.on('error', () => (failed = true));
  while (clock.now() < end) {
    const record = await findProcess(directory);
    if (record !== undefined && (await isReady(directory)) && !(await isEnding(record))) {
      return {
        kubeconfig: join(directory, 'kubeconfig'),
        process: record,
        started: child !== undefined,
      };
    }
    const ended =
      child === undefined ? record === undefined : child.exitCode !== null || child.signalCode !== null;
    // A faster start has the lock, and it starts the cluster.
    if (failed || (ended && (child?.exitCode !== lockedOut || record === undefined))) {
      return undefined;
    }
    await clock.sleep(pollInterval);
  }
  throw await startError(directory, `its API was not ready after ${deadline / 1000} s`);
}

async function startError(directory: string, why: string): Promise<ProductError> {
  const log = join(directory, 'logs', 'cluster.log');
  const lines = (await readFile(log, 'utf8')).trim().split('\n').slice(-15);
  return new ProductError(
    'CLUSTER_START',
    `the embedded cluster in ${directory} did not start: ${why}. The end of ${log}:\n${lines.join('\n')}`,
  );
}

async function rotate(log: string): Promise<void> {
  try {
    if ((await stat(log)).size > largestLog) {
      await rename(log, `${log}.1`);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw error;
    }
  }
}
