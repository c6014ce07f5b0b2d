import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { scratchDirectory } from '../bosh/testing/scratch.ts';

const root = join(import.meta.dirname, '..', '..');
const imports = `
import { interruption } from '${root}/src/cli/interruption.ts';
import { runChildCommand } from '${root}/src/cli/run-child-command.ts';
const { signal } = interruption({ process, now: () => performance.now() });
`;

/** Runs the text of a main module with the launcher of the commands (bin/run-main.mjs). */
async function launch(t: TestContext, main: string, args: readonly string[] = []) {
  const directory = await scratchDirectory(t);
  const path = (name: string): string => join(directory, name);
  await writeFile(path('main.mjs'), imports + main);
  const launcher = `
import { runMain } from '${root}/bin/run-main.mjs';
runMain(process.execPath, '${path('main.mjs')}', process.env);`;
  await writeFile(path('launcher.mjs'), launcher);
  const child = spawn(process.execPath, [path('launcher.mjs'), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

test('the launcher ends with 128 plus the number of the signal that ended the command', async (t) => {
  const child = await launch(t, 'process.kill(process.pid, process.argv[2]); setInterval(() => {}, 1000);', [
    'SIGKILL',
  ]);
  assert.deepEqual(await once(child, 'exit'), [137, null]);
});

test('a second SIGTERM ends a command that handles no signal, with exit code 143', async (t) => {
  const child = await launch(t, "console.log('computes'); for (;;);");
  await once(child.stdout, 'data');
  const repeat = setInterval(() => child.kill('SIGTERM'), 100);
  t.after(() => clearInterval(repeat));
  assert.deepEqual(await once(child, 'exit'), [143, null]);
});

test('a command and its children have the streams of the launcher, and nothing else of it', async (t) => {
  const child = await launch(
    t,
    "process.exitCode = await runChildCommand(['sh', '-c', process.argv[2]], { environment: process.env, signal });",
    ['cat; env | grep NODE_CHANNEL; readlink /proc/$$/fd/3; exit 7'],
  );
  child.stdin.end('the input\n');
  const output = text(child.stdout);
  assert.deepEqual(await once(child, 'exit'), [7, null]);
  assert.equal(await output, 'the input\n');
});

test('a killed launcher interrupts the command and its child', { timeout: 60_000 }, async (t) => {
  const child = await launch(
    t,
    `process.exitCode = await runChildCommand(['sh', '-c', process.argv[2]], { environment: process.env, signal });
console.log(signal.reason.message);`,
    ["trap 'echo terminated; exit' TERM; echo waits; while :; do sleep 0.1; done"],
  );
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => (await lines.next()).value;
  assert.equal(await next(), 'waits');
  child.kill('SIGKILL');
  assert.equal(await next(), 'terminated');
  assert.equal(await next(), 'interrupted by the end of its launcher');
  assert.equal(await next(), undefined);
});
