import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { whyNotRun } from '../../testing/why-not-run.ts';
import { asTestsRun } from '../../testing/as-tests-run.ts';

const marker = 'BOSH_KUBERNETES_TEST_USER';
const nobody = '65534';

function runAs(prefix: readonly string[], file: string): Promise<{ code: number | null; output: string }> {
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const [program, ...args] = [
    ...prefix,
    process.execPath,
    ...asTestsRun,
    '--test-reporter=spec',
    '--test-timeout=300000',
    file,
  ];
  const child = spawn(program, args, {
    // If something keeps the process alive after the tests are over, this fails, too.
    timeout: 500_000,
    cwd: '/',
    env: { ...environment, [marker]: '1', TMPDIR: '/tmp', HOME: '/nonexistent' },
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

/**
 * Runs the tests that `define` defines as this user and, if it is root, once more as an unprivileged user.
 */
export function describeAsUsers(file: string, define: () => void): void {
  define();
  if (process.getuid?.() !== 0 || process.env[marker] !== undefined) {
    return;
  }
  test('the same tests pass as an unprivileged user', async (t) => {
    const prefix = ['setpriv', '--reuid', nobody, '--regid', nobody, '--clear-groups'];
    const why = whyNotRun(prefix, file);
    if (why !== undefined) {
      t.skip(why);
      return;
    }
    const { code, output } = await runAs(prefix, file);
    assert.equal(code, 0, output);
  });
}
