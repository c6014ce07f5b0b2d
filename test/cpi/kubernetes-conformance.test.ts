import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { readPromised } from '../kubernetes-conformance/promised.ts';

const root = join(import.meta.dirname, '..', '..');
const promised = join(root, 'test', 'kubernetes-conformance', 'promised');
const { broken } = await readPromised(promised);

test('the files of promises are those whose digests are kept', () => {
  assert.deepEqual(broken, []);
});
