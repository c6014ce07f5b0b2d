import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'node:test';
import { formatBytes, parseMilli, parseQuantity } from './quantity.ts';

test('quantities of every form', () => {
  const cases: [string, bigint | undefined][] = [
    ['1', 1n],
    ['1Gi', 1073741824n],
    ['1.5Gi', 1610612736n],
    ['100m', 1n],
    ['1e3', 1000n],
    ['1E3', 1000n],
    ['12E', 12n * 10n ** 18n],
    ['5k', 5000n],
    ['.5Ki', 512n],
    ['1.', 1n],
    ['-2', -2n],
    ['0', 0n],
    ['', undefined],
    ['Gi', undefined],
    ['1 Gi', undefined],
    ['1gi', undefined],
    ['1K', undefined],
    ['1ni', undefined],
    ['1.2.3', undefined],
    ['0x10', undefined],
  ];
  for (const [text, expected] of cases) {
    assert.equal(parseQuantity(text), expected, text);
  }
  assert.equal(parseMilli('250m'), 250n);
  assert.equal(parseMilli('1n'), 1n);
});

test('bytes survive being written and read', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 70n }), (bytes) => {
      assert.equal(parseQuantity(formatBytes(bytes)), bytes);
    }),
  );
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 30n }), (mebibytes) => {
      assert.match(formatBytes(mebibytes * 1024n * 1024n), /^\d+(Mi|Gi|Ti|Pi)$/u);
    }),
  );
});

test('a fraction and its decimal exponent are the same quantity', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat({ max: 999 }), (whole, thousandths) => {
      const fraction = String(thousandths).padStart(3, '0');
      assert.equal(parseMilli(`${whole}.${fraction}`), parseMilli(`${whole}${fraction}e-3`));
    }),
  );
});
