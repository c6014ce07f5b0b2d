import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isDnsLabel, isDnsSubdomain, isLabelValue, isQualifiedName } from './names.ts';

test('names by the rules of Kubernetes', () => {
  for (const name of ['a', 'vm-1', 'a'.repeat(63)]) assert.ok(isDnsLabel(name), name);
  for (const name of ['', '-a', 'a-', 'A', 'a.b', 'a'.repeat(64), 'ä', 'a\n'])
    assert.ok(!isDnsLabel(name), name);
  for (const name of ['a.b', 'vm-1.x', `${'a'.repeat(100)}.b`]) assert.ok(isDnsSubdomain(name), name);
  for (const name of ['', '.a', 'a..b', 'a_b', 'a'.repeat(254)]) assert.ok(!isDnsSubdomain(name), name);
  for (const value of ['', 'A_b.c-1', 'a'.repeat(63)]) assert.ok(isLabelValue(value), value);
  for (const value of ['-a', 'a b', 'a/b', 'a'.repeat(64), 'a\n']) assert.ok(!isLabelValue(value), value);
  for (const key of ['a', 'a.b/c', 'bosh.cloudfoundry.org/agent-id']) assert.ok(isQualifiedName(key), key);
  for (const key of ['', '/a', 'a/', 'a/b/c', 'A_/b', `a/${'b'.repeat(64)}`])
    assert.ok(!isQualifiedName(key), key);
});

test('every label is a subdomain and a label value', () => {
  const character = fc.constantFrom('a', 'b', '0', '-', '.', '_', '/', 'A', ' ', '\n');
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 70 }), (text) => {
      if (isDnsLabel(text)) {
        assert.ok(isDnsSubdomain(text) && isLabelValue(text) && isQualifiedName(text));
      }
      if (isDnsSubdomain(text)) {
        assert.ok(isQualifiedName(`${text}/name`));
      }
    }),
  );
});
