/**
 * The words that start a Go program which shares two cores with much else: one of its threads works at a time, so that none
 * looks around for work of others, and garbage may be four times what lives, or 400 MiB with it, before it is collected. What it
 * starts has the same.
 */
export const ofGo = (command: readonly string[]): [string, ...string[]] => [
  'env',
  ...['GOMAXPROCS=1', 'GOGC=400', 'GOMEMLIMIT=400MiB'],
  ...command,
];
