// Plain JavaScript, as any Node (18 or newer) runs it. Both commands use it: that of a checkout and that of
// the npm package.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';

/**
 * Runs the command line's main module on the pinned Node, with the arguments, the streams and the signals of
 * this process, which ends with the same exit code, or like a shell with 128 plus the number of the signal
 * that ended the command.
 */
export function runMain(node, main, environment) {
  // The command notices by the channel that this process was killed (src/cli/interruption.ts).
  const stdio = ['inherit', 'inherit', 'inherit', 'ipc'];
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio, env: environment });
  // The command ends at its next safe point. A later signal ends it at once, even while it computes and
  // handles no signal (src/cli/interruption.ts has the same rule).
  let first;
  let last;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      const now = performance.now();
      first ??= now;
      last = signal;
      child.kill(signal !== 'SIGHUP' && now - first >= 500 ? 'SIGKILL' : signal);
    });
  }
  child.on('error', (error) => {
    console.error(`bosh-kubernetes: ${node} could not be started: ${error.message}${glibcHint(node, error)}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[(signal === 'SIGKILL' && last) || signal];
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
