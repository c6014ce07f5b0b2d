import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { link, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import { temporaryPath, removeTemporaryFiles, replaceFile, writeNew } from '../platform/durable-file.ts';
import type { Clock } from '../platform/clock.ts';
import { takeFileLock, type FileLock } from '../platform/file-lock.ts';
import { parsePathSegment } from '../platform/path-segment.ts';
import { identifyProcess, isAlive, isOwn, type ProcessIdentity } from '../platform/process-identity.ts';
import { readOwnJson } from '../platform/read-own-json.ts';
import type { Field } from '../platform/field.ts';
import { notWritable } from './durable-file.ts';
import type { ChildPurpose, RunningChild } from './process/leftover-process.ts';

interface LockRecord extends ProcessIdentity {
  readonly since: string;
  readonly child?: RunningChild | undefined;
}

/**
 * The lock of a deployment. Only one run at a time can have it, and a record beside the state file names that
 * run. The lock of a killed run is released.
 */
export interface DeploymentLock {
  /** A child process of the previous, killed run that is still running. */
  readonly leftoverProcess: RunningChild | undefined;
  /**
   * Records the running child, so that the next run can find it if this run is killed. The end of the child
   * is not recorded: readers check whether the process is alive. So a full disk cannot lose the child's
   * result.
   */
  recordChild(pid: number, purpose: ChildPurpose): void;
  release(): Promise<void>;
}

export interface LockOptions {
  readonly clock: Clock;
  /**
   * A directory that only this user can write to, for the kernel's lock files. Other users may be able to
   * write beside the state file.
   */
  readonly locks: string;
}

/**
 * Takes the lock of a deployment. If that fails for a second, rejects with DEPLOYMENT_LOCKED, which names the
 * process that has the lock and the time since when. Runs that use a different `locks` directory are detected
 * through the record beside the state file.
 */
export async function acquireLock(statePath: string, { clock, locks }: LockOptions): Promise<DeploymentLock> {
  const path = `${await canonicalPath(statePath)}.lock`;
  const self = identifyProcess(process.pid);
  if (self === undefined) throw new Error('this process has no identity');
  const kernel = await takeKernelLock(path, statePath, { clock, locks });
  try {
    const record: LockRecord = { ...self, since: new Date(clock.now()).toISOString() };
    const previous = await readLock(path);
    if (previous !== undefined && isAlive(previous)) throw locked(statePath, previous);
    const leftoverProcess = runningChild(previous);
    if (previous === undefined) await createExclusive(path, { ...record, child: leftoverProcess }, statePath);
    else write(path, { ...record, child: leftoverProcess });
    return {
      leftoverProcess,
      recordChild: (pid, purpose) => {
        const child = identifyProcess(pid);
        if (child !== undefined) write(path, { ...record, child: { ...child, ...purpose } });
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

/**
 * A run that has just taken the lock may not have written its record yet, and processes in other pid
 * namespaces look dead. So retry.
 */
const noteRetry = { tries: 50, pause: 20 };

async function takeKernelLock(
  path: string,
  statePath: string,
  { clock, locks }: LockOptions,
): Promise<FileLock> {
  for (let tries = 1; ; tries += 1) {
    const lock = await takeFileLock(locks, lockName(path));
    if (lock !== undefined) return lock;
    const owner = await readLock(path);
    if (tries === noteRetry.tries || (owner !== undefined && isAlive(owner))) throw locked(statePath, owner);
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

/** Creates the record. If two runs find no record, only one of them succeeds. */
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

/**
 * Returns the recorded child if it may be killed: it must belong to this user and still be the recorded
 * process, not a later one with the same pid.
 */
function runningChild(record: LockRecord | undefined): RunningChild | undefined {
  const child = record?.child;
  return child !== undefined && isAlive(child) && isOwn(child) ? child : undefined;
}

function locked(statePath: string, owner: LockRecord | undefined): ProductError {
  const who = owner === undefined ? '' : ` (process ${owner.pid}, since ${owner.since})`;
  return new ProductError(
    'DEPLOYMENT_LOCKED',
    `Another run${who} holds the lock of '${statePath}'; wait until it ends`,
  );
}

function readLock(path: string): Promise<LockRecord | undefined> {
  return readOwnJson(path, parseLockRecord, (problem, cause) => {
    const message = `Lock file '${path}' is not what the deployer wrote: ${problem}; remove it if no run is in progress`;
    return new ProductError('DEPLOYMENT_LOCKED', message, { cause });
  });
}

function parseLockRecord(file: Field): LockRecord {
  const child = file.get('child').optional();
  return {
    ...parseIdentity(file),
    since: file.get('since').string(),
    ...(child !== undefined && { child: parseChild(child) }),
  };
}

const parseChild = (child: Field): RunningChild => ({
  ...parseIdentity(child),
  doing: child.get('doing').string(),
  disposable: child.get('disposable').boolean(),
});

/** Rejects pid 1 and lower: no run is process 1, and kill(2) with -1 signals all processes. */
const parseIdentity = (process: Field): ProcessIdentity => ({
  pid: process.get('pid').integer({ min: 2, max: Number.MAX_SAFE_INTEGER }),
  started: process.get('started').nonEmptyString(),
});

/** Returns one name for the file, regardless of the path to its directory. */
async function canonicalPath(path: string): Promise<string> {
  return join(await realpath(dirname(path)), basename(path));
}
