import { readFileSync, statSync } from 'node:fs';

/** Identifies a process even if its pid is reused. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The boot of the machine and the start time of the process within it. Empty without /proc. */
  readonly started: string;
}

/**
 * Returns the process that has the pid now, or undefined if none has it or if it is a zombie. Synchronous, so
 * that callers can record a child before it can act.
 */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const stat = readIfPresent(`/proc/${pid}/stat`);
  if (stat === undefined) return identifyWithoutProc(pid);
  // The name in parentheses may contain anything, even blanks and parentheses. So the fields are counted from
  // the last parenthesis (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  const boot = readIfPresent('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
  return { pid, started: `${boot}/${fields[19] ?? ''}` };
}

export function isAlive(process: ProcessIdentity): boolean {
  return identifyProcess(process.pid)?.started === process.started;
}

/** Returns true if the process belongs to this user, false if it does not exist. */
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
