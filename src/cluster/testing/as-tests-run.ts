import { fileURLToPath } from 'node:url';

const beforeTests = fileURLToPath(new URL('../../../scripts/before-tests.mjs', import.meta.url));

/** The words for a Node that runs a file of tests, as scripts/test.mjs has them: with the heap of this one. */
export const asTestsRun: readonly string[] = [
  ...process.execArgv.filter((word) => /-space-size=|-gc$/u.test(word)),
  ...['--import', beforeTests],
];
