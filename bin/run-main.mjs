// Plain JavaScript, as any Node (18 or newer) runs it. Both commands use it: that of a checkout and that of
// the npm package.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * Runs the command line's main module on the pinned Node, with the arguments, the streams and the signals of
 * this process, which ends with the same exit code.
 */
export function runMain(node, main, environment) {
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit', env: environment });
  // The command ends at its next safe point. A later signal ends it at once, even while it computes and
  // handles no signal (src/cli/interruption.ts has the same rule).
  let first;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      const now = performance.now();
      first ??= now;
      child.kill(signal !== 'SIGHUP' && now - first >= 500 ? 'SIGKILL' : signal);
    });
  }
  child.on('error', (error) => {
    console.error(`bosh-kubernetes: ${node} could not be started: ${error.message}${glibcHint(node, error)}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
}

/**
 * Returns what the errors of a Node that does not start leave out. Without glibc, the system's error
 * only says `no such file`.
 */
export function glibcHint(node, error, stderr = '') {
  const isLoaderMissing = error?.code === 'ENOENT' && existsSync(node);
  if (!isLoaderMissing && !/GLIBC/.test(stderr)) return '';
  return `. ${node} needs glibc 2.28 or newer, which Alpine does not have`;
}
