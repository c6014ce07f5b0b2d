import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execConformance } from '../testing/exec-conformance.ts';
import { startExecServer } from '../testing/exec-server.ts';
import { bunIsMissing, runInBun } from '../testing/run-in-bun.ts';
import { isProductError } from '../../errors/product-error.ts';
import { type ExecResult, runScript } from './exec.ts';

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

test('the end of a script is what it says itself, whatever a server says of one that was killed', async (t) => {
  const { access, close } = await startExecServer();
  t.after(close);
  const run = (script: string, pod = 'vm-1'): Promise<ExecResult> =>
    runScript(access, {
      ...{ namespace: 'bosh', pod, container: 'bosh', deadlineMs: 10_000 },
      command: ['/bin/sh', '-c', script, 'name', 'a b'],
    });

  assert.deepEqual(await run('echo "$0: $1"'), { exitCode: 0, stdout: 'name: a b\n', stderr: '' });
  assert.equal((await run('exit 0')).exitCode, 0);
  assert.equal((await run('(exit 3); true')).exitCode, 0);
  for (const script of ['exit 16', 'false || exit 16', '(exit 16)', 'set -e; sh -c "exit 16"; echo on'])
    assert.equal((await run(script)).exitCode, 16, script);
  await assert.rejects(run('true', 'killed'), (error) => {
    assert.ok(isProductError(error, 'KUBERNETES_UNREACHABLE'));
    assert.match(error.message, /bosh\/killed was ended before it reported its exit code/u);
    return true;
  });
});
