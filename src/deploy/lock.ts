import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { link, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import { temporaryPath, removeTemporaryFiles } from '../platform/draft.ts';
import { takeFileLock, type FileLock } from '../platform/file-lock.ts';
import { parsePathSegment } from '../platform/path-segment.ts';
import { readOwnFile } from '../platform/read-file.ts';
import { replaceFile, writeNew } from '../platform/replace-file.ts';
import type { Clock } from './clock.ts';
import { notWritable } from './durable-file.ts';
import type { Errand } from './process/child-watch.ts';
import { identifyProcess, isAlive, isOwn, type ProcessIdentity } from './process/process-identity.ts';

/** A program that a run has started and waits for. */
export interface RunningChild extends ProcessIdentity, Errand {}

interface LockRecord extends ProcessIdentity {
  readonly since: string;
  readonly child?: RunningChild | undefined;
}

/** Held by one run at a time, and noted in a file beside the state file; a run that was killed holds it no longer. */
export interface DeploymentLock {
  /** What the run before this one had started and what is still running, when it was killed meanwhile. */
  readonly leftoverProcess: RunningChild | undefined;
  /**
   * Notes the running child, so that the next run can find it should this one be killed. That it ended is not noted: who reads
   * the note looks whether it lives, and a full disk takes no answer away.
   */
  recordChild(pid: number, errand: Errand): void;
  release(): Promise<void>;
}

export interface LockOptions {
  readonly clock: Clock;
  /** A folder of this user's own, for what the kernel holds: beside the state file others may be able to write. */
  readonly locks: string;
}

/**
 * Takes the lock of a deployment or fails within a second with DEPLOYMENT_LOCKED, which names who holds it and since when. Runs with
 * another folder for locks meet by the note beside the state file.
 */
export async function acquireLock(statePath: string, { clock, locks }: LockOptions): Promise<DeploymentLock> {
  const path = `${await canonicalPath(statePath)}.lock`;
  const self = identifyProcess(process.pid);
  if (self === undefined) throw new Error('this process has no identity');
  const kernel = await takeKernelLock(path, statePath, { clock, locks });
  try {
    const record: LockRecord = { ...self, since: clock.now().toISOString() };
    const former = await readLock(path);
    if (former !== undefined && isAlive(former)) throw locked(statePath, former);
    const orphan = runningChild(former);
    if (former === undefined) await createExclusive(path, { ...record, child: orphan }, statePath);
    else write(path, { ...record, child: orphan });
    return {
      leftoverProcess: orphan,
      recordChild: (pid, errand) => {
        const child = identifyProcess(pid);
        if (child !== undefined) write(path, { ...record, child: { ...child, ...errand } });
      },
      release: async () => {
        await rm(path, { force: true });
        kernel.release();
      },
    };
  } catch (error) {
    kernel.release();
    throw error;
  }
}

/** A run that has just taken it may not have noted itself yet, and one in another pid namespace is not seen to live. */
const noteRetry = { tries: 50, pause: 20 };

async function takeKernelLock(
  path: string,
  statePath: string,
  { clock, locks }: LockOptions,
): Promise<FileLock> {
  for (let tries = 1; ; tries += 1) {
    const lock = await takeFileLock(locks, lockName(path));
    if (lock !== undefined) return lock;
    const holder = await readLock(path);
    if (tries === noteRetry.tries || (holder !== undefined && isAlive(holder)))
      throw locked(statePath, holder);
    await clock.sleep(noteRetry.pause);
  }
}

function lockName(path: string) {
  const name = parsePathSegment(createHash('sha256').update(path).digest('hex'));
  if (name === undefined) throw new Error('a digest is no name');
  return name;
}

function write(path: string, content: LockRecord): void {
  try {
    replaceFile(path, JSON.stringify(content));
  } catch (error) {
    throw notWritable(path, error);
  }
}

/** Of two runs that find no note one makes it. */
async function createExclusive(path: string, content: LockRecord, statePath: string): Promise<void> {
  const draft = temporaryPath(path);
  try {
    removeTemporaryFiles(path);
    writeNew(draft, JSON.stringify(content));
    await link(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST'))
      throw notWritable(path, error);
    throw locked(statePath, await readLock(path));
  } finally {
    rmSync(draft, { force: true });
  }
}

/** What may be killed: this user's own, and still the process that was noted, not a later one of that id. */
function runningChild(record: LockRecord | undefined): RunningChild | undefined {
  const child = record?.child;
  return child !== undefined && isAlive(child) && isOwn(child) ? child : undefined;
}

function locked(statePath: string, holder: LockRecord | undefined): ProductError {
  const who = holder === undefined ? '' : ` (process ${holder.pid}, since ${holder.since})`;
  return new ProductError(
    'DEPLOYMENT_LOCKED',
    `One is running already${who} and holds '${statePath}'; wait until it has ended`,
  );
}

async function readLock(path: string): Promise<LockRecord | undefined> {
  const text = await readOwnFile(path);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(path, error);
  }
  if (!isLockRecord(value)) throw invalid(path);
  return value;
}

function invalid(path: string, cause?: unknown): ProductError {
  const message = `Lock file '${path}' is not what the deployer wrote; remove it if no run is under way`;
  return new ProductError('DEPLOYMENT_LOCKED', message, { cause });
}

function isLockRecord(value: unknown): value is LockRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { since, child } = value as Partial<LockRecord>;
  return isIdentity(value) && typeof since === 'string' && (child === undefined || isChild(child));
}

function isChild(value: unknown): value is RunningChild {
  if (typeof value !== 'object' || value === null) return false;
  const { doing, disposable } = value as Partial<RunningChild>;
  return isIdentity(value) && typeof doing === 'string' && typeof disposable === 'boolean';
}

/** Process 1 is no run of ours, and its group, to kill(2), all processes. */
function isIdentity(value: Partial<ProcessIdentity>): value is ProcessIdentity {
  const { pid, started } = value;
  return Number.isSafeInteger(pid) && Number(pid) > 1 && typeof started === 'string' && started !== '';
}

/** One name for the file, however its folder was reached. */
async function canonicalPath(path: string): Promise<string> {
  return join(await realpath(dirname(path)), basename(path));
}
