import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { asTestsRun } from './as-tests-run.ts';

/** Runs a test file as scripts/test.mjs does. */
async function runFile(t: TestContext, text: string): Promise<{ code: number; output: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'before-tests-'));
  t.after(() => rm(directory, { recursive: true }));
  const file = join(directory, 'file.mjs');
  await writeFile(file, text);
  // With this variable, the process would use the test runner's internal protocol.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return new Promise((resolve) => {
    execFile(process.execPath, [...asTestsRun, file], { env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    );
  });
}

test('hooks belong to their suite: before runs after that of the outer suite, and afterEach for its own tests', async (t) => {
  const { code, output } = await runFile(
    t,
    `import assert from 'node:assert/strict';
    import { after, afterEach, before, describe, test } from 'node:test';
    import { setImmediate } from 'node:timers/promises';
    describe('outer', () => {
      let ready = false;
      let ended = 0;
      before(async () => { await setImmediate(); ready = true; });
      test('a', () => assert.ok(ready));
      describe('inner', () => {
        before(() => assert.ok(ready));
        afterEach(() => { ended += 1; });
        test('b', async () => { await setImmediate(); });
        after(() => assert.equal(ended, 1));
      });
      test('c', () => assert.equal(ended, 1));
    });`,
  );
  assert.equal(code, 0, output);
  assert.match(output, /pass 3/u);
});

test('an unhandled error fails the file, with its message', async (t) => {
  for (const stray of ["throw new Error('stray')", "void Promise.reject(new Error('stray'))"]) {
    const { code, output } = await runFile(
      t,
      `import { test } from 'node:test';
      import { setImmediate } from 'node:timers/promises';
      test('passes', async () => {
        setTimeout(() => { ${stray}; }, 0);
        for (let turn = 0; turn < 100; turn += 1) await setImmediate();
      });`,
    );
    assert.notEqual(code, 0, output);
    assert.match(output, /Error: stray/u);
  }
});
