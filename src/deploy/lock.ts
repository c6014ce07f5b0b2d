import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { link, readFile, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import type { Clock } from './clock.ts';
import { notWritable } from './durable-file.ts';
import type { Errand } from './process/child-watch.ts';
import { closeGate, openGate } from './process/gate.ts';
import { identifyProcess, isAlive, type ProcessIdentity } from './process/process-identity.ts';

/** A program that a run has started and waits for. */
export interface RunningChild extends ProcessIdentity, Errand {}

interface LockRecord extends ProcessIdentity {
  readonly since: string;
  readonly child?: RunningChild | undefined;
}

/** Held by one run at a time, as a file beside the state file; a run that was killed holds it no longer. */
export interface DeploymentLock {
  /** What the run before this one had started and what is still running, when it was killed meanwhile. */
  readonly orphan: RunningChild | undefined;
  /**
   * Notes the running child, so that the next run can find it should this one be killed. That it ended is not noted: who reads
   * the note looks whether it lives, and a full disk takes no answer away.
   */
  recordChild(pid: number, errand: Errand): void;
  release(): Promise<void>;
}

/** Takes the lock of a deployment or fails at once with DEPLOYMENT_LOCKED, which names who holds it and since when. */
export async function acquireLock(statePath: string, clock: Clock): Promise<DeploymentLock> {
  const path = `${await canonicalPath(statePath)}.lock`;
  const self = identifyProcess(process.pid);
  if (self === undefined) throw new Error('this process has no identity');
  const record: LockRecord = { ...self, since: clock.now().toISOString() };
  const gate = await openGate(path, clock);
  try {
    const former = await readLock(path);
    if (former !== undefined && isAlive(former)) throw locked(statePath, former);
    const draft = writeDraft(path, { ...record, child: livingChild(former) });
    if (former === undefined) await claim(draft, path, statePath);
    else renameSync(draft, path);
    return heldLock(path, record, livingChild(former));
  } finally {
    await closeGate(gate);
  }
}

function heldLock(path: string, record: LockRecord, orphan: RunningChild | undefined): DeploymentLock {
  return {
    orphan,
    recordChild: (pid, errand) => {
      const child = identifyProcess(pid);
      if (child === undefined) return;
      renameSync(writeDraft(path, { ...record, child: { ...child, ...errand } }), path);
    },
    release: () => rm(path, { force: true }),
  };
}

function writeDraft(path: string, content: LockRecord): string {
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, JSON.stringify(content), { mode: 0o600 });
  } catch (error) {
    rmSync(draft, { force: true });
    throw notWritable(path, error);
  }
  return draft;
}

function livingChild(record: LockRecord | undefined): RunningChild | undefined {
  return record?.child !== undefined && isAlive(record.child) ? record.child : undefined;
}

async function claim(draft: string, path: string, statePath: string): Promise<void> {
  try {
    await link(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    throw locked(statePath, await readLock(path));
  } finally {
    await rm(draft, { force: true });
  }
}

function locked(statePath: string, holder: LockRecord | undefined): ProductError {
  const who = holder === undefined ? '' : ` (process ${holder.pid}, since ${holder.since})`;
  return new ProductError(
    'DEPLOYMENT_LOCKED',
    `One is running already${who} and holds '${statePath}'; wait until it has ended`,
  );
}

async function readLock(path: string): Promise<LockRecord | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    return isLockRecord(value) ? value : undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    if (!(error instanceof SyntaxError)) throw error;
    throw new ProductError(
      'DEPLOYMENT_LOCKED',
      `Lock file '${path}' is not what the deployer wrote; remove it if no run is under way`,
      {
        cause: error,
      },
    );
  }
}

function isLockRecord(value: unknown): value is LockRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, started, since } = value as Partial<LockRecord>;
  return typeof pid === 'number' && typeof started === 'string' && typeof since === 'string';
}

/** One name for the file, however its folder was reached. */
async function canonicalPath(path: string): Promise<string> {
  return join(await realpath(dirname(path)), basename(path));
}
