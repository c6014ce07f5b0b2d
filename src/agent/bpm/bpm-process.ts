import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, rm } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { FileHandle } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { ProductError } from '../../errors/product-error.ts';
import { takeFileLock } from '../../platform/file-lock.ts';
import type { FileLock } from '../../platform/file-lock.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';
import type { Clock } from '../clock.ts';
import type { Directories } from '../directories.ts';
import { DirectoryHandle } from '../file/directory-handle.ts';
import { readFileIfPresent, writeDurableFile } from '../file/durable-file.ts';
import { errorText } from '../file/error-code.ts';
import { isThere } from '../file/is-there.ts';
import { processOfPidFile } from '../monit/pid-file.ts';
import { isGone } from '../process/is-gone.ts';
import type { LiveProcess, ProcessTable } from '../process/process-table.ts';
import type { Identities } from '../user/identities.ts';
import type { BpmProcessConfig } from './bpm-config.ts';
import { startHeld } from './held-program.ts';
import type { HeldProgram, HeldProgramRequest } from './held-program.ts';
import type { ProcessName } from './parse-command.ts';
import { prepareFolders } from './prepare-folders.ts';
import type { JobUser, ProcessLogs } from './prepare-folders.ts';
import { resourceLimits } from './resource-limits.ts';

/** What a command of bpm touches of the machine. */
export interface BpmPorts {
  readonly directories: Directories;
  readonly identities: Identities;
  readonly table: ProcessTable;
  readonly clock: Clock;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** As bpm shows them: a process that ended by itself has failed. */
export type BpmStatus =
  | { readonly kind: 'running'; readonly live: LiveProcess }
  | { readonly kind: 'failed' | 'stopped'; readonly live?: undefined };

const lockPollMilliseconds = 50;
// bpm-release: src/bpm/commands/stop.go, src/bpm/runc/lifecycle/lifecycle.go
const shutdownMilliseconds = 15_000;
const quitMilliseconds = 2000;
const killMilliseconds = 5000;

/** One process of a job in bpm's form, which runs as vcap without a container. */
export class BpmProcess {
  readonly #name: ProcessName;
  readonly #ports: BpmPorts;

  constructor(name: ProcessName, ports: BpmPorts) {
    this.#name = name;
    this.#ports = ports;
  }

  /** JOB/PROCESS */
  get what(): string {
    return `${this.#name.job}/${this.#name.process}`;
  }

  async status(): Promise<BpmStatus> {
    const { live } = await processOfPidFile(this.#pidPath, this.#ports.table, {});
    if (live !== undefined) return { kind: 'running', live };
    return { kind: (await isThere(this.#pidPath)) ? 'failed' : 'stopped' };
  }

  /** Starts it unless it runs; killed at any moment it leaves nothing running that its pid file does not name. */
  async start(config: BpmProcessConfig): Promise<void> {
    await this.#locked(async () => {
      const logs = await this.#prepare(config);
      if (logs === undefined) return;
      try {
        const held = await this.#begin(config, logs, [logs.stdout.fd, logs.stderr.fd]);
        await held.go();
        held.child.unref();
      } finally {
        await closeLogs(logs);
      }
    });
  }

  /** Runs it to its end, prints what it prints, and returns its exit code, 128 and the signal after a signal. */
  async run(config: BpmProcessConfig): Promise<number> {
    return this.#locked(async () => {
      const logs = await this.#prepare(config);
      // as with bpm, which says no more of it
      if (logs === undefined) return 0;
      try {
        const held = await this.#begin(config, logs, ['pipe', 'pipe']);
        const { child } = held;
        const { stdout, stderr } = this.#ports;
        const copies = [
          copyOutput(child.stdout, logs.stdout, stdout),
          copyOutput(child.stderr, logs.stderr, stderr),
        ];
        const code = await untilEnded(held);
        await this.#endSession(held.pid);
        await Promise.all(copies);
        await rm(this.#pidPath, { force: true });
        return code;
      } finally {
        await closeLogs(logs);
      }
    });
  }

  /**
   * Stops it: its signal, after 15 seconds SIGQUIT, 2 seconds later SIGKILL, and that also for what it leaves in its
   * session. `configured` reads its part of bpm.yml, which a process that does not run needs not have.
   */
  async stop(configured: () => Promise<BpmProcessConfig>): Promise<void> {
    await this.#locked(async () => {
      const { kind, live } = await this.status();
      if (kind === 'stopped') return;
      const config = await configured();
      if (live !== undefined) await this.#end(live, config.shutdownSignal);
      await this.#clear();
    });
  }

  get #pidPath(): string {
    return join(this.#ports.directories.run, 'bpm', this.#name.job, `${this.#name.process}.pid`);
  }

  /** Has all ready that it needs and opens its logs; undefined where it runs. */
  async #prepare(config: BpmProcessConfig): Promise<ProcessLogs | undefined> {
    const { directories, identities } = this.#ports;
    if ((await this.status()).kind === 'running') return undefined;
    await this.#clear();
    await this.#require(this.#workdir(config), 'working directory');
    if (config.executable.startsWith('/')) await this.#require(config.executable, 'executable');
    return prepareFolders(this.#name, config, directories, jobUser(identities));
  }

  /** Runs its hook, and starts what waits for its go. */
  async #begin(
    config: BpmProcessConfig,
    logs: ProcessLogs,
    output: HeldProgramRequest['output'],
  ): Promise<HeldProgram> {
    const environment = this.#environment(config);
    if (config.preStart !== undefined) await this.#runHook(config.preStart, environment, logs);
    await using pids = await this.#pidFolder();
    const held = await startHeld({
      ...{ file: config.executable, arguments: config.arguments, environment, output },
      directory: this.#workdir(config),
      owner: config.isPrivileged ? undefined : jobUser(this.#ports.identities),
      limits: await resourceLimits(config),
      mayGainRights: config.isPrivileged,
    });
    await writeDurableFile(join(pids.descriptorPath, `${this.#name.process}.pid`), `${held.pid}\n`, 0o644);
    return held;
  }

  #workdir({ workdir }: BpmProcessConfig): string {
    return workdir ?? join(this.#ports.directories.jobs, this.#name.job);
  }

  /** The folder of its pid file. Only root can write on the whole way to it: what stands there is believed. */
  async #pidFolder(): Promise<DirectoryHandle> {
    await using run = await DirectoryHandle.open(this.#ports.directories.run);
    await run.makeDirectory('bpm', 0o755);
    await using bpm = await run.directory('bpm');
    // the agent makes it as every folder of a job, writable for vcap
    await bpm.giveToRoot(undefined, 0o755);
    await bpm.makeDirectory(this.#name.job, 0o700);
    const folder = await bpm.directory(this.#name.job);
    await folder.giveToRoot(undefined, 0o700);
    return folder;
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

  async #require(path: string, what: string): Promise<void> {
    try {
      await access(path);
    } catch (error) {
      throw failed(`${this.what}: its ${what} ${path} cannot be used: ${errorText(error)}`);
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
      (error: unknown) => errorText(error),
    );
    if (problem !== undefined) throw failed(`${this.what}: its pre_start hook ${file} failed: ${problem}`);
  }

  async #end(live: LiveProcess, signal: NodeJS.Signals): Promise<void> {
    const { table, stderr } = this.#ports;
    await table.signal(live, signal);
    if (await isGone(this.#ports, live, shutdownMilliseconds)) return;
    stderr.write(`bpm: ${this.what} did not end within 15 seconds of ${signal}\n`);
    await table.signal(live, 'SIGQUIT');
    if (await isGone(this.#ports, live, quitMilliseconds)) return;
    await table.signal(live, 'SIGKILL');
    if (await isGone(this.#ports, live, killMilliseconds)) return;
    throw failed(`${this.what} (pid ${live.pid}) lives on after SIGKILL`);
  }

  /** Ends what a process that has ended left in its session, and removes its pid file. */
  async #clear(): Promise<void> {
    const text = (await readFileIfPresent(this.#pidPath))?.trim() ?? '';
    const pid = /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : 1;
    // a number that is used again is another process's
    if (pid > 1 && (await this.#ports.table.find(pid)) === undefined) await this.#endSession(pid);
    await rm(this.#pidPath, { force: true });
  }

  async #endSession(sessionId: number): Promise<void> {
    const { table, clock } = this.#ports;
    const deadline = clock.now() + killMilliseconds;
    for (;;) {
      const left = (await table.usages()).filter((one) => one.sessionId === sessionId);
      if (left.length === 0) return;
      if (clock.now() > deadline) {
        throw failed(
          `${this.what}: ${left.map(({ pid }) => `pid ${pid}`).join(', ')} lives on after SIGKILL`,
        );
      }
      for (const one of left) await table.signal(one, 'SIGKILL');
      await clock.sleep(lockPollMilliseconds);
    }
  }

  /** One command at a time for each process, as with bpm. */
  async #locked<T>(work: () => Promise<T>): Promise<T> {
    const lock = await this.#lock();
    try {
      return await work();
    } finally {
      lock.release();
    }
  }

  async #lock(): Promise<FileLock> {
    const name = parsePathSegment(`${this.#name.job}.${this.#name.process}`);
    if (name === undefined) throw failed(`the name ${this.what} is too long`);
    for (;;) {
      const lock = await takeFileLock(join(this.#ports.directories.monit, 'bpm'), name);
      if (lock !== undefined) return lock;
      await this.#ports.clock.sleep(lockPollMilliseconds);
    }
  }
}

/** vcap; undefined where there is one user id for all. */
function jobUser(identities: Identities): JobUser | undefined {
  const userId = identities.userId('vcap');
  const groupId = userId === undefined ? undefined : identities.primaryGroupId(userId);
  if (userId === undefined || groupId === undefined) throw failed('there is no user vcap');
  if (identities.mayUseUser(userId) && identities.mayUseGroup(groupId)) return { userId, groupId };
  if (identities.single) return undefined;
  throw new ProductError(
    'AGENT_OWNER_UNAVAILABLE',
    'bpm must be run as root of a VM in which vcap can be used; try: sudo -i',
  );
}

async function closeLogs({ stdout, stderr }: ProcessLogs): Promise<void> {
  await stdout.close();
  await stderr.close();
}

/** Lets a program begin and waits for its end; signals that end this one are passed on to it. */
async function untilEnded(held: HeldProgram): Promise<number> {
  const { child } = held;
  const ended = once(child, 'exit');
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.on(signal, forward);
  try {
    await held.go();
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
