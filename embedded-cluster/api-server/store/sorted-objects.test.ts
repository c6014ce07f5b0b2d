import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SortedObjects } from './sorted-objects.ts';

test('a list returns the keys with its prefix, sorted, after any changes', () => {
  const key = fc
    .tuple(fc.constantFrom('', 'a', 'a-b', 'b'), fc.constantFrom('x', 'x-1', 'y'))
    .map((parts) => parts.join('/'));
  const step = fc.record({ key, removed: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step), fc.constantFrom('', '/', 'a/', 'a-b/', 'c/'), (steps, prefix) => {
      const objects = new SortedObjects();
      const model = new Map<string, string>();
      for (const [index, { key: name, removed }] of steps.entries()) {
        const uid = String(index);
        if (removed) objects.delete(name);
        else objects.set(name, { metadata: { name, uid, resourceVersion: uid } });
        if (removed) model.delete(name);
        else model.set(name, uid);
      }
      const expected = [...model.keys()].filter((name) => name.startsWith(prefix)).toSorted();
      assert.deepEqual(
        objects.list(prefix).map(({ metadata }) => [metadata.name, metadata.uid]),
        expected.map((name) => [name, model.get(name)]),
      );
    }),
  );
});
