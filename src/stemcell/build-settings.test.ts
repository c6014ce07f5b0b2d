import assert from 'node:assert/strict';
import { test } from 'node:test';
import { architectureOf, assertAgentRunsHere, sourceDateEpoch } from './build-settings.ts';

test('the architecture of the machine has the name that images use', () => {
  assert.equal(architectureOf({ platform: 'linux', arch: 'x64' }), 'amd64');
  assert.equal(architectureOf({ platform: 'linux', arch: 'arm64' }), 'arm64');
  assert.throws(() => architectureOf({ platform: 'linux', arch: 'riscv64' }), {
    code: 'STEMCELL_BUILD_UNSUPPORTED',
    message: /riscv64.*amd64 and arm64.*--architecture/u,
  });
});

test('the error names the remedy if our agent cannot be built', () => {
  assertAgentRunsHere({ platform: 'linux', arch: 'x64' });
  for (const machine of [
    { platform: 'linux', arch: 'arm64' },
    { platform: 'darwin', arch: 'x64' },
  ])
    assert.throws(() => assertAgentRunsHere(machine), {
      code: 'STEMCELL_BUILD_UNSUPPORTED',
      message: new RegExp(`this machine is ${machine.platform} on ${machine.arch}: .*--agent FILE`, 'u'),
    });
});

test('SOURCE_DATE_EPOCH counts seconds since 1970, and the default is 1 January 2026', () => {
  assert.equal(sourceDateEpoch(undefined) * 1000, Date.UTC(2026, 0, 1));
  assert.equal(sourceDateEpoch(''), sourceDateEpoch(undefined));
  assert.equal(sourceDateEpoch('0'), 0);
  assert.equal(sourceDateEpoch('1700000000'), 1_700_000_000);
  for (const text of ['yesterday', '-1', '1.5', '1e9', ' 1', '2026-01-01', '9'.repeat(12)])
    assert.throws(() => sourceDateEpoch(text), {
      code: 'INVALID_ARGUMENT',
      message: new RegExp(`SOURCE_DATE_EPOCH must be seconds since 1970, not '${text}'`),
    });
});
