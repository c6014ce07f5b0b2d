import { fileURLToPath } from 'node:url';

const beforeTests = fileURLToPath(new URL('../../scripts/before-tests.mjs', import.meta.url));

/**
 * The Node.js arguments that run a test file as scripts/test.mjs does, with the heap size of this process.
 */
export const asTestsRun: readonly string[] = [
  ...process.execArgv.filter((word) => /-space-size=|-gc$/u.test(word)),
  ...['--import', beforeTests],
];
