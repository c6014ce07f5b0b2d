import { readFileSync, statSync } from 'node:fs';

/** A process beyond the reuse of its pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The machine's boot and the process's start within it; empty where there is no /proc. */
  readonly started: string;
}

/** Who has that pid now; undefined when nobody has, a zombie included. Synchronous: callers record a child before it can act. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const stat = readIfPresent(`/proc/${pid}/stat`);
  if (stat === undefined) return identifyWithoutProc(pid);
  // The name in parentheses may hold anything, blanks and parentheses too: fields count from the last one (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  const boot = readIfPresent('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
  return { pid, started: `${boot}/${fields[19] ?? ''}` };
}

export function isAlive(process: ProcessIdentity): boolean {
  return identifyProcess(process.pid)?.started === process.started;
}

/** Whether a process is this user's; false when it is gone. */
export function isOwn({ pid }: ProcessIdentity): boolean {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === process.geteuid?.();
}

function identifyWithoutProc(pid: number): ProcessIdentity | undefined {
  if (readIfPresent('/proc/self/stat') !== undefined) return undefined;
  try {
    process.kill(pid, 0);
    return { pid, started: '' };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return undefined;
    if (error instanceof Error && 'code' in error && error.code === 'EPERM') return { pid, started: '' };
    throw error;
  }
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH'))
      return undefined;
    throw error;
  }
}
