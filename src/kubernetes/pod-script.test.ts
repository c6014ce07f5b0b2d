import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../errors/product-error.ts';
import type { ExecResult } from './pod-exec.ts';
import { runScript } from './pod-script.ts';
import { startExecServer } from './testing/exec-server.ts';

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
    assert.match(error.message, /bosh\/killed was ended before it had said how it went/u);
    return true;
  });
});
