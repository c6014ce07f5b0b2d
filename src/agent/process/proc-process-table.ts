import { open, readFile, readdir, readlink } from 'node:fs/promises';
import { errorCode } from '../file/error-code.ts';
import { readFileIfPresent } from '../file/durable-file.ts';
import { launchMarkOf } from './launch-mark.ts';
import { pageKilobytes } from './page-size.ts';
import type { LiveProcess, ProcessIdentity, ProcessTable } from './process-table.ts';
import { parseProcStat } from './proc-stat.ts';

// USER_HZ is 100 on every architecture that Node runs on
const ticksPerSecond = 100;
const goneCodes = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'EINVAL']);

/** The process table of /proc. */
export const procProcessTable: ProcessTable = {
  async find(pid) {
    // An open handle to /proc/PID stays bound to this process even if the pid is reused.
    const folder = await ifProcessExists(open(`/proc/${pid}`, 'r'));
    if (folder === undefined) return undefined;
    try {
      const stat = parseProcStat((await readProcFile(`/proc/self/fd/${folder.fd}/stat`)) ?? '');
      const status = await readProcFile(`/proc/self/fd/${folder.fd}/status`);
      const [, real, saved] = /^Uid:\t([0-9]+)\t[0-9]+\t([0-9]+)\t/m.exec(status ?? '') ?? [];
      const limits = await readProcFile(`/proc/self/fd/${folder.fd}/limits`);
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
      await folder.close();
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
      const words =
        (await readProcFile(`/proc/${pid}/cmdline`))?.replace(/\0+$/, '').replaceAll('\0', ' ') ?? '';
      return words !== '' && pattern.test(words) ? [Number(pid)] : [];
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
      const held = await handlesBelow(entry, directory);
      if (held !== undefined) found.push(`${await processName(entry)} (pid ${entry}, ${held})`);
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
    if (goneCodes.has(errorCode(error) ?? '')) return undefined;
    throw error;
  }
}
