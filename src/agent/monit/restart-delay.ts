const longestMilliseconds = 10_000;

/**
 * How long to wait before the next start of a process that has been started `restarts` times without staying up
 * for half a minute: none, then 1, 2, 4, 8 and at most 10 s. monit tries at every cycle, 10 s in stemcells, and
 * never gives up; neither does this.
 */
export function restartDelay(restarts: number): number {
  if (restarts === 0) return 0;
  return Math.min(1000 * 2 ** Math.min(restarts - 1, 10), longestMilliseconds);
}
