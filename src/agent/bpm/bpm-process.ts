import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, type FileHandle } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { ProductError } from '../../errors/product-error.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Directories } from '../directories.ts';
import type { DirectoryHandle } from '../file/directory-handle.ts';
import { isTemporaryName, writeDurableFile, exists } from '../file/files.ts';
import { errorCode, errorMessage } from '../file/error-code.ts';
import { findByPidFile } from '../monit/check-service.ts';
import { waitUntilEnded, type LiveProcess, type ProcessTable } from '../process/process-table.ts';
import type { Identities } from '../user/identities.ts';
import { type BpmProcessConfig, resourceLimits } from './bpm-config.ts';
import { startGated, type GatedProgram, type GatedProgramRequest } from './gated-program.ts';
import type { ProcessName } from './parse-command.ts';
import { openPidDirectory, withFileLock } from './locks.ts';
import { prepareJobDirectories, type JobUser, type ProcessLogs } from './job-directories.ts';

/** The parts of the machine that a bpm command uses. */
export interface BpmPorts {
  readonly directories: Directories;
  readonly identities: Identities;
  readonly table: ProcessTable;
  readonly clock: Clock;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** The version of this product. */
  readonly version: string;
}

/** The states that bpm shows. A process that ended by itself has failed. */
export type BpmStatus =
  | { readonly kind: 'running'; readonly live: LiveProcess }
  | { readonly kind: 'failed' | 'stopped'; readonly live?: undefined };

const pollMilliseconds = 50;
// bpm-release: src/bpm/commands/stop.go, src/bpm/runc/lifecycle/lifecycle.go
const shutdownMilliseconds = 15_000;
const quitMilliseconds = 2000;
const killMilliseconds = 5000;

/** One process of a job with a bpm.yml. It runs as vcap, without a container. */
export class BpmProcess {
  readonly #name: ProcessName;
  readonly #ports: BpmPorts;

  constructor(name: ProcessName, ports: BpmPorts) {
    this.#name = name;
    this.#ports = ports;
  }

  /** JOB/PROCESS */
  get label(): string {
    return `${this.#name.job}/${this.#name.process}`;
  }

  async status(): Promise<BpmStatus> {
    const { live } = await findByPidFile(this.#pidPath, this.#ports.table, {});
    if (live !== undefined) return { kind: 'running', live };
    return { kind: (await exists(this.#pidPath)) ? 'failed' : 'stopped' };
  }

  /**
   * Starts the process unless it is running. Crash-safe: never leaves a process running that is not in the
   * pid file.
   */
  async start(config: BpmProcessConfig): Promise<void> {
    await this.#locked(async (pids) => {
      const logs = await this.#prepare(config, pids);
      if (logs === undefined) return;
      try {
        const program = await this.#spawn(config, { logs, pids, output: [logs.stdout.fd, logs.stderr.fd] });
        await program.release();
        program.child.unref();
      } finally {
        await closeLogs(logs);
      }
    });
  }

  /**
   * Runs the process to its end and copies its output. Returns its exit code, or 128 plus the signal number.
   */
  async run(config: BpmProcessConfig): Promise<number> {
    return this.#locked(async (pids) => {
      const logs = await this.#prepare(config, pids);
      // bpm itself does the same if the process is running already: no message, exit code 0.
      if (logs === undefined) return 0;
      try {
        const program = await this.#spawn(config, { logs, pids, output: ['pipe', 'pipe'] });
        const { child } = program;
        const { stdout, stderr } = this.#ports;
        const copies = [
          copyOutput(child.stdout, logs.stdout, stdout),
          copyOutput(child.stderr, logs.stderr, stderr),
        ];
        const code = await waitForExit(program);
        await this.#cleanUp(pids);
        await Promise.all(copies);
        return code;
      } finally {
        await closeLogs(logs);
      }
    });
  }

  /**
   * Stops the process: sends its shutdown signal, SIGQUIT after 15 seconds, and SIGKILL 2 seconds later. Then
   * kills the remaining processes of its session. `loadConfig` is called only if the process has a pid file.
   */
  async stop(loadConfig: () => Promise<BpmProcessConfig>): Promise<void> {
    await this.#locked(async (pids) => {
      const { kind, live } = await this.status();
      if (kind === 'stopped') return;
      const config = await loadConfig();
      if (live !== undefined) await this.#terminate(live, config.shutdownSignal);
      await this.#cleanUp(pids);
    });
  }

  get #pidName(): string {
    return `${this.#name.process}.pid`;
  }

  get #pidPath(): string {
    return join(this.#ports.directories.run, 'bpm', this.#name.job, this.#pidName);
  }

  /**
   * Prepares everything that the process needs and opens its logs. Returns undefined if the process is
   * running.
   */
  async #prepare(config: BpmProcessConfig, pids: DirectoryHandle): Promise<ProcessLogs | undefined> {
    const { directories, identities } = this.#ports;
    if ((await this.status()).kind === 'running') return undefined;
    await this.#cleanUp(pids);
    await this.#assertExecutable(this.#workdir(config), 'working directory');
    if (config.executable.startsWith('/')) await this.#assertExecutable(config.executable, 'executable');
    return prepareJobDirectories(this.#name, config, directories, jobUser(identities));
  }

  /** Runs the pre_start hook and starts the process, which waits for `release`. */
  async #spawn(
    config: BpmProcessConfig,
    run: {
      readonly logs: ProcessLogs;
      readonly pids: DirectoryHandle;
      readonly output: GatedProgramRequest['output'];
    },
  ): Promise<GatedProgram> {
    const environment = this.#environment(config);
    if (config.preStart !== undefined) await this.#runHook(config.preStart, environment, run.logs);
    const program = await startGated({
      ...{ file: config.executable, arguments: config.arguments, environment, output: run.output },
      directory: this.#workdir(config),
      owner: config.isPrivileged ? undefined : jobUser(this.#ports.identities),
      limits: await resourceLimits(config),
      allowSetuid: config.isPrivileged,
    });
    await writeDurableFile(join(run.pids.descriptorPath, this.#pidName), `${program.pid}\n`, 0o644);
    return program;
  }

  #workdir({ workdir }: BpmProcessConfig): string {
    return workdir ?? join(this.#ports.directories.jobs, this.#name.job);
  }

  #environment({ environment }: BpmProcessConfig): Readonly<Record<string, string>> {
    const { data, jobs } = this.#ports.directories;
    const { job } = this.#name;
    const path = '/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:.';
    return {
      TMPDIR: join(data, job, 'tmp'),
      LANG: 'en_US.UTF-8',
      PATH: `${join(jobs, job, 'bin')}:${path}`,
      HOME: join(data, job),
      ...environment,
    };
  }

  async #assertExecutable(path: string, label: string): Promise<void> {
    try {
      await access(path);
    } catch (error) {
      throw failed(`${this.label}: its ${label} ${path} cannot be used: ${errorMessage(error)}`);
    }
  }

  async #runHook(
    file: string,
    environment: Readonly<Record<string, string>>,
    logs: ProcessLogs,
  ): Promise<void> {
    const child = spawn(file, [], {
      env: { ...environment },
      cwd: '/',
      stdio: ['ignore', logs.stdout.fd, logs.stderr.fd],
    });
    const problem = await once(child, 'exit').then(
      ([code, signal]: unknown[]) =>
        code === 0
          ? undefined
          : `${typeof code === 'number' ? 'exit status' : 'ended by'} ${String(code ?? signal)}`,
      (error: unknown) => errorMessage(error),
    );
    if (problem !== undefined) throw failed(`${this.label}: its pre_start hook ${file} failed: ${problem}`);
  }

  async #terminate(live: LiveProcess, signal: NodeJS.Signals): Promise<void> {
    const { table, stderr } = this.#ports;
    await table.signal(live, signal);
    if (await waitUntilEnded(this.#ports, live, shutdownMilliseconds)) return;
    stderr.write(`bpm: ${this.label} did not end within 15 seconds of ${signal}\n`);
    await table.signal(live, 'SIGQUIT');
    if (await waitUntilEnded(this.#ports, live, quitMilliseconds)) return;
    await table.signal(live, 'SIGKILL');
    if (await waitUntilEnded(this.#ports, live, killMilliseconds)) return;
    throw failed(`${this.label} (pid ${live.pid}) is still running after SIGKILL`);
  }

  /** Kills the remaining processes in the session of an ended process, and removes its pid file. */
  async #cleanUp(pids: DirectoryHandle): Promise<void> {
    const pid = await readPidFile(pids, this.#pidName);
    // If a process has this pid, the pid has been reused by another process.
    const isEnded = pid !== undefined && (await this.#ports.table.find(pid)) === undefined;
    if (isEnded) await this.#endSession(pid);
    await pids.remove(this.#pidName);
    // An interrupted command may have left a temporary pid file.
    for (const name of await pids.names())
      if (isTemporaryName(name.toString(), this.#pidName)) await pids.remove(name);
  }

  async #endSession(sessionId: number): Promise<void> {
    const { table, clock } = this.#ports;
    let deadline: number | undefined;
    for (;;) {
      const remaining = (await table.list()).filter((process) => process.sessionId === sessionId);
      if (remaining.length === 0) return;
      if (deadline !== undefined && clock.now() > deadline) {
        const pids = remaining.map(({ pid }) => `pid ${pid}`).join(', ');
        throw failed(`${this.label}: still running after SIGKILL: ${pids}`);
      }
      for (const process of remaining) await table.signal(process, 'SIGKILL');
      deadline ??= clock.now() + killMilliseconds;
      await clock.sleep(pollMilliseconds);
    }
  }

  /** Runs one command at a time for each process, as bpm does. */
  async #locked<T>(work: (pids: DirectoryHandle) => Promise<T>): Promise<T> {
    const name = parsePathSegment(`${this.#name.job}.${this.#name.process}`);
    if (name === undefined) throw failed(`the name ${this.label} is too long`);
    return withFileLock(name, this.#ports, async () => {
      await using pids = await openPidDirectory(this.#name.job, this.#ports);
      return await work(pids);
    });
  }
}

/** Returns the ids of vcap, or undefined if the VM has only one user id. */
function jobUser(identities: Identities): JobUser | undefined {
  const userId = identities.userId('vcap');
  const groupId = userId === undefined ? undefined : identities.primaryGroupId(userId);
  if (userId === undefined || groupId === undefined) throw failed('there is no user vcap');
  if (identities.canActAsUser(userId) && identities.canActAsGroup(groupId)) return { userId, groupId };
  if (identities.hasSingleId) return undefined;
  throw new ProductError(
    'AGENT_OWNER_UNAVAILABLE',
    'bpm must be run as root of a VM in which vcap can be used; try: sudo -i',
  );
}

/** Returns the pid in a pid file, or undefined if there is none. */
async function readPidFile(directory: DirectoryHandle, name: string): Promise<number | undefined> {
  try {
    await using file = await directory.openFile(name, 'read');
    const text = (await file.readFile('latin1')).trim();
    return /^[1-9][0-9]{0,9}$/.test(text) && text !== '1' ? Number(text) : undefined;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function closeLogs({ stdout, stderr }: ProcessLogs): Promise<void> {
  await stdout.close();
  await stderr.close();
}

/** Releases a gated program and waits for its end. Forwards SIGINT and SIGTERM to it. */
async function waitForExit(program: GatedProgram): Promise<number> {
  const { child } = program;
  const ended = once(child, 'exit');
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.on(signal, forward);
  try {
    await program.release();
    const [code, signal]: unknown[] = await ended;
    return typeof code === 'number' ? code : 128 + (constants.signals[String(signal) as NodeJS.Signals] ?? 0);
  } finally {
    for (const signal of signals) process.off(signal, forward);
  }
}

async function copyOutput(source: Readable | null, log: FileHandle, own: Writable): Promise<void> {
  if (source === null) return;
  for await (const chunk of source) {
    await log.write(chunk as Buffer);
    if (!own.write(chunk)) await once(own, 'drain');
  }
}

function failed(cause: string): ProductError {
  return new ProductError('AGENT_BPM_FAILED', cause);
}
