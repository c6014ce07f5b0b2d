import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readPromised } from '../kubernetes-conformance/promised.ts';

const root = join(import.meta.dirname, '..', '..');
const { names, broken } = await readPromised(join(root, 'test', 'kubernetes-conformance', 'promised'));

test('what the documents say of Kubernetes’ own tests is how many are promised', async () => {
  const quoted = await Promise.all(
    ['README.md', 'docs/kubernetes-conformance.md'].map(async (path) => {
      const text = await readFile(join(root, path), 'utf8');
      return [...text.matchAll(/(\d+) of Kubernetes' own tests/g)].map(([, count]) => Number(count));
    }),
  );
  for (const counts of quoted) assert.deepEqual(counts, [names.length]);
});

test('no promise was taken back', () => {
  assert.deepEqual(broken, []);
});
