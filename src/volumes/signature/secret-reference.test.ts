import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  formatSecretReference,
  isBelowPrefix,
  isSecretPath,
  parseSecretReference,
} from './secret-reference.ts';

test('property: a reference is read back as it was written, and none of its parts leads out of the prefix', () => {
  const path = fc
    .array(fc.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,8}$/u), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join('/'));
  fc.assert(
    fc.property(fc.constantFrom('credhub' as const, 'file' as const), path, (store, name) => {
      const reference = { store, name: `/volumes/${name}` };
      assert.deepEqual(parseSecretReference(formatSecretReference(reference)), reference);
      assert.ok(
        isSecretPath(name) && isBelowPrefix(reference, '/volumes') && isBelowPrefix(reference, '/volumes/'),
      );
      assert.ok(!isBelowPrefix(reference, '/vol'));
      assert.ok(!isBelowPrefix({ store, name: '/volumes' }, '/volumes'));
    }),
  );
});

test('other strings are passwords', () => {
  for (const text of [
    '((photos))',
    '((credhub:photos))',
    '((vault:/a))',
    '((file:/a/../b))',
    '((file:/a//b))',
    '((file:/a/))',
    '((file:/a)) ',
  ])
    assert.equal(parseSecretReference(text), undefined, text);
  for (const path of ['', '/a', 'a/', 'a//b', '.', 'a/..', 'a/.b', 'a b', 'a\n'])
    assert.ok(!isSecretPath(path), path);
});
