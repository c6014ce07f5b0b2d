import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { whyNotRun } from '../../testing/why-not-run.ts';
import { asTestsRun } from '../../testing/as-tests-run.ts';

const marker = 'BOSH_KUBERNETES_TEST_NAMESPACE';

const namespaces = ['--mount', '--propagation', 'slave', '--pid', '--fork', '--kill-child', '--mount-proc'];

/** The maximum duration of one test. */
const testSeconds = 180;
const secondsToEnd = 120;

interface Mode {
  readonly name: string;
  readonly prefix: readonly string[];
}

const isRoot = process.getuid?.() === 0;

const modes: readonly Mode[] = isRoot
  ? [
      { name: 'root', prefix: ['unshare', ...namespaces] },
      {
        name: 'an unprivileged user',
        prefix: [
          ...['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'],
          ...['unshare', '--user', '--map-root-user', ...namespaces],
        ],
      },
    ]
  : [{ name: 'an unprivileged user', prefix: ['unshare', '--user', '--map-root-user', ...namespaces] }];

function spawnTests(
  file: string,
  mode: Mode,
  seconds: number,
): Promise<{ code: number | null; output: string }> {
  const [program = '', ...args] = mode.prefix;
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const timeout = `--test-timeout=${seconds * 1000}`;
  const command = [process.execPath, ...asTestsRun, '--test-reporter=spec', timeout, file];
  const child = spawn(program, [...args, '/bin/sh', '-c', '"$@"; exit $?', 'sh', ...command], {
    // If something keeps the process alive after the tests are over, this fails, too.
    timeout: (seconds + secondsToEnd) * 1000,
    // unshare ignores SIGTERM while it waits for its child
    killSignal: 'SIGKILL',
    env: { ...environment, [marker]: mode.name, TMPDIR: '/tmp' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}

/** The user of this process's tests inside their namespace. */
export const namespaceMode = process.env[marker];

/**
 * Runs the tests that `define` defines in new mount and pid namespaces: once as root and once as an
 * unprivileged user, as far as this process can become these users. All their mounts and processes end with
 * the namespaces.
 */
export function describeInNamespace(file: string, define: () => void): void {
  describeAs(modes, file, define);
}

/**
 * Does the same only as the user of this process, for tests that are not about the node. `seconds`: the
 * maximum duration of one test.
 */
export function describeInOneNamespace(file: string, define: () => void, seconds = testSeconds): void {
  describeAs(modes.slice(0, 1), file, define, seconds);
}

function describeAs(users: readonly Mode[], file: string, define: () => void, seconds = testSeconds): void {
  if (namespaceMode !== undefined) {
    define();
    return;
  }
  for (const mode of users) {
    test(`in namespaces, as ${mode.name}`, async (t) => {
      const why = whyNotRun(mode.prefix, file);
      if (why !== undefined) {
        t.skip(why);
        return;
      }
      const { code, output } = await spawnTests(file, mode, seconds);
      assert.equal(code, 0, output);
    });
  }
}
