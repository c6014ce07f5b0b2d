import type { MonitSubject } from '../../bosh/monit/monit-service.ts';
import type { ProcessTable, LiveProcess, ProcessIdentity } from '../process/process-table.ts';
import type { Probes } from './probes.ts';
import type { Stats } from 'node:fs';
import { basename, dirname } from 'node:path';
import { isProductError } from '../../errors/product-error.ts';
import { DirectoryHandle } from '../file/directory-handle.ts';
import { errorCode } from '../file/error-code.ts';

/**
 * The result of a check: a service is up if its process runs or its file exists. A host always counts as up;
 * only its rules check it.
 */
export type ServiceStatus = PidFileResult | { readonly live?: undefined; readonly problem?: undefined };

/** Checks whether a service is up: it is up if the result has no problem. */
export async function checkService(
  subject: MonitSubject,
  { table, probes }: { readonly table: ProcessTable; readonly probes: Probes },
  evidence: KnownProcess,
): Promise<ServiceStatus> {
  switch (subject.kind) {
    case 'pidfile':
      return findByPidFile(subject.path, table, evidence);
    case 'matching':
      return findByCommandLine(subject.pattern, table, evidence);
    case 'file': {
      const file = await probes.file(subject.path);
      return file === undefined ? { problem: `there is no file ${subject.path}` } : {};
    }
    case 'host':
      return {};
  }
}

// A pidfile is written after its process started. The slack allows for the granularity of the clock.
const slackMilliseconds = 2000;
const readLimit = 64;

/** The facts about a process that do not come from its pidfile. */
export interface KnownProcess {
  /** The process that was accepted before. */
  readonly known?: ProcessIdentity | undefined;
  /** The marks of the start programs that start it, and of the scripts of its job. */
  readonly marks?: readonly string[];
}

/** The running process of a pidfile, or why there is none. */
export type PidFileResult =
  | { readonly live: LiveProcess; readonly problem?: undefined }
  | { readonly live?: undefined; readonly problem: string };

interface PidFile {
  readonly text: string;
  readonly stats: Stats;
  /** True if only root can have written the file and put it there. */
  readonly isOnlyRoots: boolean;
}

/**
 * Reads a pidfile. Job users can often write to its directory, and the agent kills the process that it names.
 * So a pid is accepted only if it has not been reused, and if the process is the known one, or started before
 * the file was written and passes {@link isTrustworthy}.
 */
export async function findByPidFile(
  path: string,
  table: ProcessTable,
  evidence: KnownProcess,
): Promise<PidFileResult> {
  const file = await readPidFile(path);
  if (typeof file === 'string') return { problem: file };
  const pid = parsePid(file.text);
  if (pid === undefined) return { problem: 'its pidfile contains no pid' };
  const live = await table.find(pid);
  if (live === undefined) return { problem: `no process has the pid ${pid} of its pidfile` };
  const { known } = evidence;
  const isKnown = known?.pid === pid && known.startTicks === live.startTicks;
  if (isKnown) return { live };
  if (known?.pid === pid || live.startedAt > file.stats.mtimeMs + slackMilliseconds) {
    return { problem: `the pid ${pid} of its pidfile now belongs to another process` };
  }
  if (isTrustworthy(file, live, evidence.marks ?? [])) return { live };
  return {
    problem:
      `its pidfile belongs to user ${file.stats.uid}, and pid ${pid} is neither a process of that user nor one that its start program ` +
      'or a script of its job started; if the start program of another check started it, give both checks the same start program',
  };
}

/**
 * A pidfile that only root can have written may name any process. Any other pidfile may have been written by
 * a job user. It may name a process that the start program or a script of the job started, or a process that
 * the file's owner could signal. It is not enough that root owns the pidfile: a job user can move a log of root into its
 * place and write to it through an inherited descriptor.
 */
function isTrustworthy(file: PidFile, live: LiveProcess, marks: readonly string[]): boolean {
  if (file.isOnlyRoots) return true;
  if (live.mark !== undefined && marks.includes(live.mark)) return true;
  return file.stats.uid !== 0 && live.userIds.includes(file.stats.uid);
}

async function readPidFile(path: string): Promise<PidFile | string> {
  try {
    await using directory = await DirectoryHandle.open(dirname(path));
    await using file = await directory.openFile(basename(path), 'read');
    const stats = await file.stat();
    const isOnlyRoots = stats.uid === 0 && (stats.mode & 0o022) === 0 && (await directory.isOnlyRoots(stats));
    const { buffer, bytesRead } = await file.read(Buffer.alloc(readLimit), 0, readLimit, 0);
    return { text: buffer.toString('latin1', 0, bytesRead), stats, isOnlyRoots };
  } catch (error) {
    if (isProductError(error, 'AGENT_PATH_UNSAFE')) return `its pidfile cannot be used: ${error.message}`;
    if (errorCode(error) === 'ENOENT') return 'there is no pidfile';
    throw error;
  }
}

// A text beyond the limit is not a valid number, either. Pid 1 reaps for all jobs and belongs to none.
function parsePid(text: string): number | undefined {
  const match = /^\s*([1-9][0-9]{0,9})\s*$/.exec(text);
  return match === null || match[1] === '1' ? undefined : Number(match[1]);
}

/**
 * Finds the process of a `matching` check. Of the processes whose command line matches, returns the known
 * one, otherwise one with a launch mark of the service, otherwise the first. Any user can start a matching
 * process, so the agent signals it only if it has the launch mark.
 */
async function findByCommandLine(
  pattern: string,
  table: ProcessTable,
  { known, marks = [] }: KnownProcess,
): Promise<PidFileResult> {
  const found = await Promise.all((await table.matching(new RegExp(pattern))).map((pid) => table.find(pid)));
  const living = found.filter((one) => one !== undefined);
  const live =
    living.find((one) => one.pid === known?.pid && one.startTicks === known.startTicks) ??
    living.find(({ mark }) => mark !== undefined && marks.includes(mark)) ??
    living[0];
  return live === undefined ? { problem: `no process matches '${pattern}'` } : { live };
}
