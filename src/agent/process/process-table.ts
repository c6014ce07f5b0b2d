import { open, readFile, readdir, readlink } from 'node:fs/promises';
import { errorCode } from '../file/error-code.ts';
import { readFileIfPresent } from '../file/files.ts';
import { launchMarkOf } from './programs.ts';
import type { Clock } from '../../platform/clock.ts';

/** Identifies a process. A pid can be reused; a pid together with its start time cannot. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time in clock ticks since the machine's boot (proc(5), stat field 22). */
  readonly startTicks: number;
}

/** A running process; a zombie is not one. */
export interface LiveProcess extends ProcessIdentity {
  readonly name: string;
  /** The real and the saved user id: another process of one of them may signal this one (kill(2)). */
  readonly userIds: readonly number[];
  /** The launch mark of the process, inherited from the program that started it. Undefined if it has none. */
  readonly mark: string | undefined;
  /** When it started, in milliseconds since the epoch. */
  readonly startedAt: number;
  readonly memoryKilobytes: number;
  /** Processor time used so far, in seconds. */
  readonly cpuSeconds: number;
}

/** One process of the list of all processes. */
export interface ProcessUsage extends ProcessIdentity {
  readonly parentPid: number;
  /** The pid of the process that created its session (setsid(2)). */
  readonly sessionId: number;
  readonly memoryKilobytes: number;
  readonly cpuSeconds: number;
}

/** The processes of this machine. */
export interface ProcessTable {
  find(pid: number): Promise<LiveProcess | undefined>;
  /** Returns all running processes, this program included. */
  list(): Promise<readonly ProcessUsage[]>;
  /**
   * Returns the pids of the processes whose command line, with its arguments joined by blanks, matches. Does
   * not return this program's own pid.
   */
  matching(pattern: RegExp): Promise<readonly number[]>;
  /** Sends a signal to a process unless its pid has been reused. Returns true if the signal was sent. */
  signal(identity: ProcessIdentity, name: NodeJS.Signals): Promise<boolean>;
  /** Returns the processes that use something at or below a directory, with the path that they use. */
  openHandlesBelow(directory: string): Promise<readonly string[]>;
}

// USER_HZ is 100 on every architecture that Node runs on
const ticksPerSecond = 100;
const unreadableCodes = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'EINVAL']);

/** The process table of /proc. */
export const procProcessTable: ProcessTable = {
  async find(pid) {
    // An open handle to /proc/PID stays bound to this process even if the pid is reused.
    const directory = await ifProcessExists(open(`/proc/${pid}`, 'r'));
    if (directory === undefined) return undefined;
    try {
      const stat = parseProcStat((await readProcFile(`/proc/self/fd/${directory.fd}/stat`)) ?? '');
      const status = await readProcFile(`/proc/self/fd/${directory.fd}/status`);
      const [, real, saved] = /^Uid:\t([0-9]+)\t[0-9]+\t([0-9]+)\t/m.exec(status ?? '') ?? [];
      const limits = await readProcFile(`/proc/self/fd/${directory.fd}/limits`);
      if (stat === undefined || stat.state === 'Z' || stat.state === 'X' || real === undefined)
        return undefined;
      return {
        pid,
        startTicks: stat.startTicks,
        name: stat.name,
        userIds: [Number(real), Number(saved)],
        mark: launchMarkOf(limits ?? ''),
        startedAt: (await bootMilliseconds()) + (stat.startTicks * 1000) / ticksPerSecond,
        memoryKilobytes: stat.residentPages * (await pageKilobytes()),
        cpuSeconds: stat.cpuTicks / ticksPerSecond,
      } satisfies LiveProcess;
    } finally {
      await directory.close();
    }
  },

  async list() {
    const found = (await pids()).map(async (pid) => {
      const stat = parseProcStat((await readProcFile(`/proc/${pid}/stat`)) ?? '');
      if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return [];
      return {
        pid: Number(pid),
        startTicks: stat.startTicks,
        parentPid: stat.parentPid,
        sessionId: stat.sessionId,
        memoryKilobytes: stat.residentPages * (await pageKilobytes()),
        cpuSeconds: stat.cpuTicks / ticksPerSecond,
      };
    });
    return (await Promise.all(found)).flat();
  },

  async matching(pattern) {
    const found = (await pids()).map(async (pid) => {
      const args =
        (await readProcFile(`/proc/${pid}/cmdline`))?.replace(/\0+$/, '').replaceAll('\0', ' ') ?? '';
      return args !== '' && pattern.test(args) ? [Number(pid)] : [];
    });
    return (await Promise.all(found)).flat().filter((pid) => pid !== process.pid && pid !== 1);
  },

  async signal(identity: ProcessIdentity, name) {
    const live = await procProcessTable.find(identity.pid);
    if (live?.startTicks !== identity.startTicks) return false;
    try {
      return process.kill(identity.pid, name);
    } catch (error) {
      if (errorCode(error) === 'ESRCH') return false;
      throw error;
    }
  },

  async openHandlesBelow(directory) {
    const found: string[] = [];
    for (const entry of await pids()) {
      const program = await handlesBelow(entry, directory);
      if (program !== undefined) found.push(`${await processName(entry)} (pid ${entry}, ${program})`);
    }
    return found;
  },
};

async function pids(): Promise<readonly string[]> {
  return (await readdir('/proc')).filter((entry) => /^[0-9]+$/.test(entry));
}

async function handlesBelow(pid: string, directory: string): Promise<string | undefined> {
  const isBelow = (path: string | undefined): boolean =>
    path !== undefined && (path === directory || path.startsWith(`${directory}/`));
  for (const link of ['cwd', 'root', 'exe']) {
    const path = await readProcLink(`/proc/${pid}/${link}`);
    if (isBelow(path)) return `${link} ${path}`;
  }
  for (const descriptor of await listProc(`/proc/${pid}/fd`)) {
    const path = await readProcLink(`/proc/${pid}/fd/${descriptor}`);
    if (isBelow(path)) return `open file ${path}`;
  }
  return undefined;
}

async function processName(pid: string): Promise<string> {
  return (await readProcFile(`/proc/${pid}/comm`))?.trim() ?? 'a process that has just ended';
}

async function bootMilliseconds(): Promise<number> {
  const match = /^btime ([0-9]+)$/m.exec((await readFileIfPresent('/proc/stat')) ?? '');
  if (match === null) throw new Error('/proc/stat has no btime');
  return Number(match[1]) * 1000;
}

const readProcFile = (path: string): Promise<string | undefined> => ifProcessExists(readFile(path, 'utf8'));
const readProcLink = (path: string): Promise<string | undefined> => ifProcessExists(readlink(path));
const listProc = async (path: string): Promise<readonly string[]> =>
  (await ifProcessExists(readdir(path))) ?? [];

// A process may end while it is read, or may belong to another user.
async function ifProcessExists<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (unreadableCodes.has(errorCode(error) ?? '')) return undefined;
    throw error;
  }
}

/** The fields of /proc/<pid>/stat that the agent reads (proc(5)). */
export interface ProcStat {
  readonly name: string;
  readonly state: string;
  readonly parentPid: number;
  readonly sessionId: number;
  readonly startTicks: number;
  readonly cpuTicks: number;
  readonly residentPages: number;
}

/** Reads /proc/<pid>/stat. The name in parentheses may contain any text, even parentheses and blanks. */
export function parseProcStat(text: string): ProcStat | undefined {
  const nameStart = text.indexOf('(') + 1;
  const nameEnd = text.lastIndexOf(')');
  if (nameStart < 1 || nameEnd < nameStart) return undefined;
  const fields = text
    .slice(nameEnd + 2)
    .trim()
    .split(' ');
  // fields[0] is field 3 of proc(5)
  const number = (field: number): number => Number(fields[field - 3]);
  const stat = {
    name: text.slice(nameStart, nameEnd),
    state: fields[0] ?? '',
    parentPid: number(4),
    sessionId: number(6),
    startTicks: number(22),
    cpuTicks: number(14) + number(15),
    residentPages: number(24),
  };
  return Number.isFinite(stat.startTicks + stat.cpuTicks + stat.residentPages) ? stat : undefined;
}

/** The type of the entry with the page size in the auxiliary vector (AT_PAGESZ, getauxval(3)). */
const pageSizeType = 6n;

let kilobytes: Promise<number> | undefined;

/**
 * Returns the size of a memory page of this machine, in KiB. It is 4 on x86-64, and 4, 16 or 64 on arm64,
 * depending on the kernel.
 */
export function pageKilobytes(): Promise<number> {
  kilobytes ??= readFile('/proc/self/auxv').then((vector) => parsePageSize(vector) / 1024);
  return kilobytes;
}

/**
 * Reads the page size in bytes from an auxiliary vector: pairs of 64-bit numbers, type and value (proc(5)).
 */
export function parsePageSize(vector: Buffer): number {
  // Both architectures that this product is built for are little-endian.
  for (let offset = 0; offset + 16 <= vector.length; offset += 16)
    if (vector.readBigUInt64LE(offset) === pageSizeType) return Number(vector.readBigUInt64LE(offset + 8));
  throw new Error('/proc/self/auxv has no page size');
}

const pollMilliseconds = 100;

/**
 * Waits until a process has ended. Returns true when it has, or false if it still runs after `milliseconds`.
 * Another process with the same pid counts as ended.
 */
export async function waitUntilEnded(
  ports: { readonly table: ProcessTable; readonly clock: Clock },
  identity: ProcessIdentity,
  milliseconds: number,
): Promise<boolean> {
  const deadline = ports.clock.now() + milliseconds;
  for (;;) {
    const live = await ports.table.find(identity.pid);
    if (live?.startTicks !== identity.startTicks) return true;
    if (ports.clock.now() >= deadline) return false;
    await ports.clock.sleep(pollMilliseconds);
  }
}
