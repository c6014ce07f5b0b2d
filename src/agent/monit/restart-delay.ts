const longestMilliseconds = 10_000;

/**
 * Returns how long to wait, in milliseconds, before the next start of a process that has been started
 * `restarts` times without staying up for half a minute: 0, then 1, 2, 4, 8 and at most 10 s. monit tries in
 * every cycle, every 10 s on stemcells, and never gives up. This supervisor never gives up, either.
 */
export function restartDelay(restarts: number): number {
  if (restarts === 0) return 0;
  return Math.min(1000 * 2 ** Math.min(restarts - 1, 10), longestMilliseconds);
}
