// Loaded before a test file (`--import`). Node's test runner follows every promise of a process in order to
// assign a stray error to its test (lib/internal/test_runner/harness.js). That takes a tenth of the CPU time
// or more. Without it such an error still fails its file, with its stack below, but is not assigned to a
// test. The runner must still follow suites and tests themselves, because it assigns hooks by them.
import asyncHooks from 'node:async_hooks';
import { createRequire, syncBuiltinESMExports } from 'node:module';

const { createHook } = asyncHooks;
let isRunner = true;
// The runner makes the first hook of a process, before any of our code runs.
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
  // Without another listener Node throws the error.
  if (process.listenerCount('unhandledRejection') === 1) throw reason;
  console.error(reason);
});

// When a file imports node:http, Node reads all of its exports, and these load a library in each process
// (scripts/require-http.ts). The global WebSocket stays.
const http = createRequire(import.meta.url)('node:http');
for (const name of ['CloseEvent', 'MessageEvent', 'WebSocket']) delete http[name];
