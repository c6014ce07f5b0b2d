import { randomBytes } from 'node:crypto';

/**
 * A random number that a program gets as the soft limit of its time as a real-time process (RLIMIT_RTTIME, in
 * microseconds: more than 30,000 years). All that it begins inherits the limit, through exec, setsid, an emptied
 * environment and the end of its parents, and only root can change it on a process of root.
 */
export function newLaunchMark(): string {
  return String(2n ** 60n + (randomBytes(8).readBigUInt64BE() >> 4n));
}

/** Reads the mark from /proc/<pid>/limits; undefined where the process has none. */
export function launchMarkOf(limits: string): string | undefined {
  return /^Max realtime timeout +([0-9]+) /m.exec(limits)?.[1];
}
