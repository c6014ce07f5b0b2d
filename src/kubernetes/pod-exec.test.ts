import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execConformance } from './testing/exec-conformance.ts';
import { startExecServer } from './testing/exec-server.ts';
import { bunIsMissing, runInBun } from './testing/run-in-bun.ts';

test('exec, in Node', async (t) => {
  const { access, proxied, close } = await startExecServer();
  t.after(close);

  for (const { name, run } of execConformance) {
    await t.test(name, () => run(access, proxied));
  }
});

test('exec, in Bun', { skip: bunIsMissing() ?? false }, async (t) => {
  const { access, proxied, close } = await startExecServer();
  t.after(close);

  const results = await runInBun('./exec-in-bun.ts', { access, proxied });

  assert.equal(results.length, execConformance.length);
  for (const { name, error } of results) {
    await t.test(name, () => {
      assert.equal(error, undefined);
    });
  }
});
