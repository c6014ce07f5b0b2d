import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { parsePromised } from '../kubernetes-conformance/promised.ts';

const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
const promised = parsePromised(await read('test/kubernetes-conformance/promised.txt'));

test('what the documents say of Kubernetes’ own tests is how many are promised', async () => {
  const quoted = await Promise.all(
    ['README.md', 'docs/kubernetes-conformance.md'].map(async (path) =>
      [...(await read(path)).matchAll(/(\d+) of Kubernetes' own tests/g)].map(([, count]) => Number(count)),
    ),
  );
  for (const counts of quoted) assert.deepEqual(counts, [promised.length]);
});

test('the list is sorted and never gets shorter than what was promised first', () => {
  assert.ok(promised.length >= 117);
  assert.deepEqual(promised, promised.toSorted());
});
