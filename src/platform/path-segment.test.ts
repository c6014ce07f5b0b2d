import assert from 'node:assert/strict';
import { basename, dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { parsePathSegment } from './path-segment.ts';

test('whatever is taken names an entry of the folder that it is joined to, and nothing else', () => {
  const part = fc.constantFrom('.', '..', '/', '\\', '\0', '\n', 'a', ' ', 'é', '-');
  const text = fc.oneof(
    fc.string(),
    fc.array(part).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(text, (candidate) => {
      const segment = parsePathSegment(candidate);
      if (segment === undefined) return;
      const path = resolve(join('/folder', segment));
      assert.equal(dirname(path), '/folder');
      assert.equal(basename(path), candidate);
    }),
  );
});

test('names as BOSH has them are taken', () => {
  for (const name of [
    'hello',
    'bosh-dns',
    'ruby-3.2_r1',
    '1.2+dev.3',
    'a'.repeat(64),
    '@scope',
    'a b',
    '...',
  ])
    assert.equal(parsePathSegment(name), name);
  for (const name of ['', '.', '..', 'a/b', '/a', '../a', 'a\\b', 'a\0', 'a\nb', 'é'.repeat(101)])
    assert.equal(parsePathSegment(name), undefined, JSON.stringify(name));
});
