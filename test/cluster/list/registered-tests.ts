import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { takeRegistered } from './recording-test.ts';
import type { Registered } from './recording-test.ts';

// node registered-tests.ts FILE...: prints as JSON, one list for each file, the suites and tests that these
// files register. Runs none of them.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'node:test'
      ? { url: new URL('recording-test.ts', import.meta.url).href, shortCircuit: true }
      : next(specifier, context),
});
const lists: Registered[][] = [];
for (const file of process.argv.slice(2)) {
  await import(pathToFileURL(file).href);
  lists.push(takeRegistered());
}
process.stdout.write(JSON.stringify(lists));
