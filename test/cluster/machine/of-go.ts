/**
 * Returns the arguments that start a Go program which shares two cores with many others. One of its threads
 * runs at a time, so that none spins looking for work. The heap may grow to four times the live data, or by
 * 400 MiB, before a garbage collection. Its child processes inherit this.
 */
export const ofGo = (command: readonly string[]): [string, ...string[]] => [
  'env',
  ...['GOMAXPROCS=1', 'GOGC=400', 'GOMEMLIMIT=400MiB'],
  ...command,
];
