// Loaded before a test file (`--import`). Node's test runner follows every promise of a process to know which test a stray
// error belongs to (lib/internal/test_runner/harness.js), which takes a tenth of the CPU time and more. Without
// that such an error still fails its file, with its stack below, and is not told apart by test. Suites and tests themselves
// it has to follow: by that it knows whose a hook is.
import asyncHooks from 'node:async_hooks';
import { createRequire, syncBuiltinESMExports } from 'node:module';

const { createHook } = asyncHooks;
let isRunner = true;
// the runner makes the first hook of a process, before anything of ours runs
asyncHooks.createHook = (callbacks) => {
  if (!isRunner) return createHook(callbacks);
  isRunner = false;
  asyncHooks.createHook = createHook;
  syncBuiltinESMExports();
  return createHook({ ...callbacks, trackPromises: false });
};
syncBuiltinESMExports();

process.on('uncaughtExceptionMonitor', (error) => {
  console.error(error);
});
process.on('unhandledRejection', (reason) => {
  // nobody else listens: what Node does then
  if (process.listenerCount('unhandledRejection') === 1) throw reason;
  console.error(reason);
});

// A file that imports node:http has Node read all that it exports, and these load a library, in each process anew
// (scripts/require-http.ts). The global WebSocket stays.
const http = createRequire(import.meta.url)('node:http');
for (const name of ['CloseEvent', 'MessageEvent', 'WebSocket']) delete http[name];
