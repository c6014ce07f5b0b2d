import { fileURLToPath } from 'node:url';

/** What a Node that runs a file of tests imports first, as scripts/test.mjs has it. */
export const withoutTestHooks = fileURLToPath(
  new URL('../../../scripts/without-test-hooks.mjs', import.meta.url),
);
