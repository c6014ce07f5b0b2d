import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Check } from './checks.ts';
import { runCheck } from './run-check.ts';

const directory = mkdtempSync(join(tmpdir(), 'run-check-'));
after(() => rmSync(directory, { recursive: true }));

const missing = ['spin', 'gcc'].filter((program) => spawnSync(program, ['--version']).error !== undefined);
const skip = missing.length > 0 && `needs ${missing.join(' and ')}`;
const limits = { memoryMiB: 300, seconds: 60 };
const check: Check = {
  model: 'counter.pml',
  property: 'the counter stays below its limit',
  flags: 'LIMIT=3',
  compiler: '-DSAFETY',
  verifier: '-m1000',
  expected: 'holds',
  runs: 'in CI',
};
writeFileSync(
  join(directory, 'counter.pml'),
  `byte n;
active proctype P() { do :: n < 3 -> n++; printf("@ the counter is %d\\n", n); assert(n < LIMIT) :: n == 3 -> break od }
`,
);

test('a counterexample has its steps as text', { skip }, async () => {
  const outcome = await runCheck(directory, check, limits);
  assert.equal(outcome.kind, 'counterexample');
  assert.deepEqual(outcome.lines.slice(0, 3), ['the counter is 1', 'the counter is 2', 'the counter is 3']);
});

test('a property that holds in all states', { skip }, async () => {
  const outcome = await runCheck(directory, { ...check, flags: 'LIMIT=4' }, limits);
  assert.equal(outcome.kind, 'holds');
  assert.ok(outcome.states > 3);
});

test('a search that meets its limit has not shown anything', { skip }, async () => {
  const outcome = await runCheck(directory, { ...check, flags: 'LIMIT=4', verifier: '-m3' }, limits);
  assert.equal(outcome.kind, 'incomplete');
});
