import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readPromised } from '../kubernetes-conformance/promised.ts';

const root = join(import.meta.dirname, '..', '..');
const promised = join(root, 'test', 'kubernetes-conformance', 'promised');
const { names, broken } = await readPromised(promised);

test('no promise was taken back', () => {
  assert.deepEqual(broken, []);
});

// what was promised when this was written: a file and its line in SHA256SUMS may not change together either
const kept = [
  'ec6d6f6161176348a5445b4a24043c2b1a15c7273e2749763c9202595be751f2  1.txt',
  '5cf9fddcf58747b326eb10991d9490c12c22cb53b3793a03dd3ee9dff5021943  2.txt',
  '53f2e2f0150703b64a6d3096aa65a14889851e72c116479cd84962bddd2883e1  3.txt',
  '4d94d473c17e3f1b05640148b8b5144657270e9c4cebea384e55fda48b810284  4.txt',
  '3414ac4f951393108fedf89705cc126c88d17e0cdcf84f092b8e72c7111b7234  5.txt',
];

test('the list of promises only grows', async () => {
  const lines = (await readFile(join(promised, 'SHA256SUMS'), 'utf8')).split('\n');
  assert.deepEqual(
    kept.filter((line) => !lines.includes(line)),
    [],
  );
  assert.ok(names.length >= 189, `${names.length} are promised, and 189 were`);
});
