import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'node:test';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { podSchema } from '../kinds/pod/pod-schema.ts';
import { applyJsonPatch } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';

/** The table of RFC 7386, appendix A: original, patch, result. */
const rfc7386: [unknown, unknown, unknown][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

describe('a merge patch', () => {
  test('follows the examples of RFC 7386', () => {
    for (const [original, patch, result] of rfc7386)
      assert.deepEqual(applyMergePatch(original, patch), result);
  });

  test('is idempotent and changes neither argument', () => {
    fc.assert(
      fc.property(fc.object(), fc.object(), (original, patch) => {
        const before = structuredClone([original, patch]);
        const once = applyMergePatch(original, patch);
        assert.deepEqual(applyMergePatch(once, patch), once);
        assert.deepEqual([original, patch], before);
      }),
    );
  });

  test('takes __proto__ for a plain key', () => {
    const merged = applyMergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}'));
    assert.equal(Object.getPrototypeOf(merged), Object.prototype);
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  });
});

describe('a JSON patch', () => {
  const apply = (document: unknown, ...operations: unknown[]): unknown =>
    applyJsonPatch(document, operations);
  const refused = (code: number) => (error: unknown) => isApiError(error, code);

  test('adds, replaces, removes, moves, copies and tests', () => {
    assert.deepEqual(apply({ a: [1, 3] }, { op: 'add', path: '/a/1', value: 2 }), { a: [1, 2, 3] });
    assert.deepEqual(apply({ a: [1] }, { op: 'add', path: '/a/-', value: 2 }), { a: [1, 2] });
    assert.deepEqual(apply({ 'a/b': 1, 'm~n': 2 }, { op: 'replace', path: '/a~1b', value: 3 }), {
      'a/b': 3,
      'm~n': 2,
    });
    assert.deepEqual(apply({ a: 1, b: 2 }, { op: 'remove', path: '/a' }), { b: 2 });
    assert.deepEqual(apply({ a: { b: 1 } }, { op: 'move', from: '/a/b', path: '/c' }), { a: {}, c: 1 });
    assert.deepEqual(apply({ a: { b: 1 } }, { op: 'copy', from: '/a', path: '/c' }), {
      a: { b: 1 },
      c: { b: 1 },
    });
    assert.deepEqual(apply({ a: { x: 1, y: 2 } }, { op: 'test', path: '/a', value: { y: 2, x: 1 } }), {
      a: { x: 1, y: 2 },
    });
  });

  test('is 422 if it does not apply', () => {
    assert.throws(() => apply({ a: 1 }, { op: 'test', path: '/a', value: 2 }), refused(422));
    assert.throws(() => apply({}, { op: 'remove', path: '/a' }), refused(422));
    assert.throws(() => apply({}, { op: 'replace', path: '/a', value: 1 }), refused(422));
    assert.throws(() => apply({ a: [] }, { op: 'add', path: '/a/1', value: 1 }), refused(422));
    assert.throws(() => apply({ a: [1] }, { op: 'remove', path: '/a/01' }), refused(422));
    assert.throws(() => apply({}, { op: 'jump', path: '/a' }), refused(422));
  });

  test('is 400 if it is invalid, and 413 if it is too long', () => {
    assert.throws(() => applyJsonPatch({}, { op: 'add' }), refused(400));
    assert.throws(() => apply({}, { path: '/a' }), refused(400));
    const many = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/a', value: 1 }));
    assert.throws(() => applyJsonPatch({ a: 1 }, many), refused(413));
  });

  test('changes neither argument', () => {
    const document = { a: { b: [1] } };
    const patch = [{ op: 'add', path: '/a/b/-', value: { c: 1 } }];
    applyJsonPatch(document, patch);
    assert.deepEqual(document, { a: { b: [1] } });
  });
});

describe('a JSON patch that grows an object exponentially', () => {
  test('is 422 if its copies double an object, in breadth or in depth', () => {
    const broad = Array.from({ length: 40 }, (_, n) => ({ op: 'copy', from: '', path: `/c${n}` }));
    const deep = Array.from({ length: 40 }, (_, n) => ({
      op: 'copy',
      from: '',
      path: `${'/d'.repeat(n)}/d`,
    }));
    for (const patch of [broad, deep]) {
      assert.throws(
        () => applyJsonPatch({ a: { b: 1 } }, patch),
        (error) => isApiError(error, 422),
      );
    }
  });
});

describe('a strategic merge patch', () => {
  const pod = {
    metadata: { finalizers: ['a/a'] },
    spec: {
      containers: [
        { name: 'one', image: 'x:1', env: [{ name: 'A', value: '1' }] },
        { name: 'two', image: 'y:1' },
      ],
      tolerations: [{ key: 'a' }],
    },
  };
  const apply = (patch: unknown): typeof pod => applyStrategicMergePatch(podSchema, pod, patch) as typeof pod;

  test('joins containers by name and their environment by name', () => {
    const patched = apply({ spec: { containers: [{ name: 'one', env: [{ name: 'B', value: '2' }] }] } });
    assert.deepEqual(patched.spec.containers, [
      {
        name: 'one',
        image: 'x:1',
        env: [
          { name: 'B', value: '2' },
          { name: 'A', value: '1' },
        ],
      },
      { name: 'two', image: 'y:1' },
    ]);
  });

  test('deletes an item, adds one, and sorts by $setElementOrder', () => {
    const patched = apply({
      spec: {
        '$setElementOrder/containers': [{ name: 'three' }, { name: 'two' }],
        containers: [
          { name: 'one', $patch: 'delete' },
          { name: 'three', image: 'z:1' },
        ],
      },
    });
    assert.deepEqual(
      patched.spec.containers.map(({ name }) => name),
      ['three', 'two'],
    );
  });

  test('replaces atomic lists, extends sets, deletes from sets, replaces on demand', () => {
    assert.deepEqual(apply({ spec: { tolerations: [{ key: 'b' }] } }).spec.tolerations, [{ key: 'b' }]);
    assert.deepEqual(apply({ metadata: { finalizers: ['b/b', 'a/a'] } }).metadata.finalizers, ['b/b', 'a/a']);
    const shrunk = apply({ metadata: { '$deleteFromPrimitiveList/finalizers': ['a/a'] } });
    assert.deepEqual(shrunk.metadata.finalizers, []);
    const replaced = apply({ spec: { containers: [{ $patch: 'replace' }, { name: 'only', image: 'w:1' }] } });
    assert.deepEqual(replaced.spec.containers, [{ name: 'only', image: 'w:1' }]);
  });

  test('is 400 if an item lacks its key', () => {
    assert.throws(
      () => apply({ spec: { containers: [{ image: 'x' }] } }),
      (error) => isApiError(error, 400),
    );
  });
});
