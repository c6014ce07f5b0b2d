import assert from 'node:assert/strict';
import { test } from 'node:test';
import { architectureOf, assertAgentRunsHere } from './architecture.ts';

test("a machine's architecture by the name that images use", () => {
  assert.equal(architectureOf({ platform: 'linux', arch: 'x64' }), 'amd64');
  assert.equal(architectureOf({ platform: 'linux', arch: 'arm64' }), 'arm64');
  assert.throws(() => architectureOf({ platform: 'linux', arch: 'riscv64' }), {
    code: 'STEMCELL_BUILD_UNSUPPORTED',
    message: /riscv64.*amd64 and arm64.*--architecture/u,
  });
});

test('where our agent cannot be made, that is said with the way out', () => {
  assertAgentRunsHere({ platform: 'linux', arch: 'x64' });
  for (const machine of [
    { platform: 'linux', arch: 'arm64' },
    { platform: 'darwin', arch: 'x64' },
  ])
    assert.throws(() => assertAgentRunsHere(machine), {
      code: 'STEMCELL_BUILD_UNSUPPORTED',
      message: new RegExp(`this is ${machine.platform} on ${machine.arch}: .*--agent FILE`, 'u'),
    });
});
