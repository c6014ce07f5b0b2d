import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { parseQuantity } from './quantities.ts';

const unit = 10n ** 9n;

test('quantities of every form are parsed', () => {
  const table: [string, bigint][] = [
    ['0', 0n],
    ['1', unit],
    ['500m', unit / 2n],
    ['1.5', (unit * 3n) / 2n],
    ['.5', unit / 2n],
    ['1Ki', 1024n * unit],
    ['1.5Gi', 1536n * 1024n * 1024n * unit],
    ['1k', 1000n * unit],
    ['1E', 10n ** 18n * unit],
    ['1e3', 1000n * unit],
    ['12E-1', (unit * 12n) / 10n],
    ['-2', -2n * unit],
    ['1n', 1n],
    ['0.1n', 1n],
  ];
  for (const [text, expected] of table) assert.equal(parseQuantity(text), expected, text);
  for (const text of ['', 'x', '1KB', '1 Gi', '--1', '1e', '.', '1.2.3', '1ki'])
    assert.equal(parseQuantity(text), undefined, text);
});

test('binary suffixes are powers of 1024', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 1e6 }),
      fc.constantFrom('Ki', 'Mi', 'Gi', 'Ti'),
      (count, suffix) => {
        const power = BigInt(['Ki', 'Mi', 'Gi', 'Ti'].indexOf(suffix) + 1);
        assert.equal(parseQuantity(`${count}${suffix}`), BigInt(count) * 1024n ** power * unit);
      },
    ),
  );
});
