import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BloomFilter } from './path-filter.ts';

test('the filter finds each file of a large root, and has almost no false positives', () => {
  const filter = new BloomFilter();
  const count = 100_000;
  const names = Array.from(
    { length: count },
    (_, index) => `usr/share/doc/package-${index % 997}/file-${index}`,
  );
  assert.ok(!filter.has(names[0] ?? ''));
  for (const name of names) filter.add(name);
  assert.ok(names.every((name) => filter.has(name)));
  const wrong = names.filter((name) => filter.has(`${name}.gz`));
  assert.ok(wrong.length <= 5, `${wrong.length} of ${count}`);
});
