import { randomBytes } from 'node:crypto';

/**
 * Returns a random number that a start program gets as its soft limit RLIMIT_RTTIME (real-time CPU time in
 * microseconds: more than 30,000 years). Its descendants inherit the limit, even after exec, setsid, a
 * cleared environment or the end of their parents. Only root can change the limit of a process of root. So
 * the agent recognises them by it.
 */
export function newLaunchMark(): string {
  return String(2n ** 60n + (randomBytes(8).readBigUInt64BE() >> 4n));
}

/** Reads the mark from /proc/<pid>/limits. Returns undefined if the process has none. */
export function launchMarkOf(limits: string): string | undefined {
  return /^Max realtime timeout +([0-9]+) /m.exec(limits)?.[1];
}
