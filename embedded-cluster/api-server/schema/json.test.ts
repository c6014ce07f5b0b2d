import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { copyJson } from './json.ts';

test('a copy is what structuredClone makes, and shares nothing with the original', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const copy = copyJson(value);
      assert.deepEqual(copy, structuredClone(value));
      if (typeof value === 'object' && value !== null) assert.notEqual(copy, value);
    }),
  );
});

test('a key that names the prototype stays a key', () => {
  const value: unknown = JSON.parse('{"data":{"a":{"b":1},"__proto__":{"polluted":true}}}');
  const copy = copyJson(value) as { data: Record<string, unknown> };
  assert.equal(JSON.stringify(copy), JSON.stringify(value));
  assert.equal(Object.getPrototypeOf(copy.data), Object.prototype);
});
