import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'node:test';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { isRecord, type JsonRecord } from '../schema/json.ts';
import { fields, array, mapOf, string } from '../schema/schema.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';
import { strategicDifference } from '../testing/strategic-difference.ts';

const item = fields({ name: string, image: string, labels: mapOf(string), tags: array(string, 'set') });
const schema = fields({
  plain: string,
  labels: mapOf(string),
  items: array(item, { key: 'name' }),
  tags: array(string, 'set'),
  atomic: array(item),
});

const apply = (target: unknown, patch: unknown): unknown => applyStrategicMergePatch(schema, target, patch);
const refused = (patch: unknown): void => {
  assert.throws(
    () => apply({ items: [{ name: 'a' }], tags: ['x'] }, patch),
    (error) => isApiError(error, 400),
  );
};

const word = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const map = fc.dictionary(word, word);
const set = fc.uniqueArray(word);
const anItem = (name: string): fc.Arbitrary<JsonRecord> =>
  fc
    .record({ name: fc.constant(name), image: optional(word), labels: optional(map), tags: optional(set) })
    .map(defined);
const items = set.chain((names) => fc.tuple(...names.map(anItem)));
const document = fc
  .record({
    plain: optional(word),
    labels: optional(map),
    items: optional(items),
    tags: optional(set),
    atomic: optional(items),
  })
  .map(defined);

function defined(record: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}

/** Returns the value as decoding leaves it: without empty lists and maps. */
function settled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(settled);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, settled(one)] as const);
  return Object.fromEntries(
    entries.filter(([, one]) => !(typeof one === 'object' && one !== null && Object.keys(one).length === 0)),
  );
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(freeze);
    Object.freeze(value);
  }
  return value;
}

const named = (target: unknown): unknown[] =>
  ((target as { items?: { name: unknown }[] }).items ?? []).map(({ name }) => name);

describe('a strategic merge patch, as properties', () => {
  test('turns one object into the other if it is computed from both, in content and order', () => {
    fc.assert(
      fc.property(document, document, (from, to) => {
        assert.deepEqual(settled(apply(from, strategicDifference(schema, from, to))), settled(to));
      }),
      { numRuns: 2000 },
    );
  });

  test('changes nothing more if it is applied twice, and never its arguments', () => {
    fc.assert(
      fc.property(document, document, document, (from, to, live) => {
        const patch = freeze(strategicDifference(schema, from, to));
        const once = freeze(apply(freeze(live), patch));
        assert.deepEqual(settled(apply(once, patch)), settled(once));
      }),
      { numRuns: 1000 },
    );
  });

  test('keeps items that its author did not know, in their order', () => {
    const foreign = fc
      .uniqueArray(fc.constantFrom('u', 'v', 'w'))
      .chain((names) => fc.tuple(...names.map(anItem)));
    fc.assert(
      fc.property(document, document, foreign, fc.infiniteStream(fc.nat()), (from, to, extra, chance) => {
        const [before, after] = [from, to].map((one): JsonRecord => ({ items: [], ...one }));
        const own = (from['items'] ?? []) as unknown[];
        const live = extra.reduce<unknown[]>(
          (list, one) => list.toSpliced(Number(chance.next().value) % (list.length + 1), 0, one),
          [...own],
        );
        const patch = strategicDifference(schema, before ?? {}, after ?? {});
        const patched = apply({ ...from, items: live }, patch) as JsonRecord;
        const isForeign = (one: unknown): boolean => 'uvw'.includes(String((one as JsonRecord)['name']));
        assert.deepEqual(((patched['items'] ?? []) as unknown[]).filter(isForeign), live.filter(isForeign));
      }),
      { numRuns: 1000 },
    );
  });

  test('is applied or refused with 400, for any input', () => {
    const key = fc.constantFrom(
      'items',
      'tags',
      'labels',
      '$patch',
      '$retainKeys',
      '$setElementOrder/items',
      '$deleteFromPrimitiveList/tags',
      'name',
      '__proto__',
    );
    const leaf = fc.oneof(
      fc.constantFrom('delete', 'replace', 'merge', 'a', null, 1),
      fc.constant({ name: 'a' }),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(document, tree, (target, patch) => {
        try {
          apply(target, patch);
        } catch (error) {
          assert(isApiError(error, 400), String(error));
        }
      }),
      { numRuns: 2000 },
    );
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });
});

describe('a strategic merge patch, directive by directive', () => {
  test('puts new items first, as a real server does, unless $setElementOrder orders them', () => {
    const target = { items: [{ name: 'a' }, { name: 'b' }] };
    assert.deepEqual(named(apply(target, { items: [{ name: 'c' }] })), ['c', 'a', 'b']);
    const order = [{ name: 'a' }, { name: 'c' }, { name: 'b' }];
    assert.deepEqual(named(apply(target, { '$setElementOrder/items': order, items: [{ name: 'c' }] })), [
      'a',
      'c',
      'b',
    ]);
  });

  test('replaces a map or a list by $patch: replace, and deletes an item or empties a map by delete', () => {
    const target = { labels: { a: '1' }, items: [{ name: 'a', image: 'x' }, { name: 'b' }] };
    assert.deepEqual(apply(target, { labels: { $patch: 'replace', b: '2' } }), {
      ...target,
      labels: { b: '2' },
    });
    assert.deepEqual(apply(target, { items: [{ $patch: 'replace' }, { name: 'c' }] }), {
      ...target,
      items: [{ name: 'c' }],
    });
    assert.deepEqual(apply(target, { items: [{ $patch: 'delete', name: 'a' }] }), {
      ...target,
      items: [{ name: 'b' }],
    });
    assert.deepEqual(apply(target, { labels: { $patch: 'delete' } }), { ...target, labels: {} });
    assert.deepEqual(apply({}, { labels: { $patch: 'delete' }, items: [{ $patch: 'delete', name: 'a' }] }), {
      items: [],
    });
  });

  test('combines $deleteFromPrimitiveList with additions', () => {
    const patch = { '$deleteFromPrimitiveList/tags': ['x', 'none'], tags: ['z'] };
    assert.deepEqual(apply({ tags: ['x', 'y'] }, patch), { tags: ['z', 'y'] });
    assert.deepEqual(apply({}, { '$deleteFromPrimitiveList/tags': ['x'] }), {});
  });

  test('keeps only the fields that $retainKeys lists', () => {
    const patch = { $retainKeys: ['labels', 'plain'], plain: 'new', tags: null };
    assert.deepEqual(apply({ labels: { a: '1' }, plain: 'old', tags: ['x'] }, patch), {
      labels: { a: '1' },
      plain: 'new',
    });
  });

  test('replaces lists without a merge key, also with an empty list', () => {
    assert.deepEqual(apply({ atomic: [{ name: 'a' }] }, { atomic: [{ name: 'b' }] }), {
      atomic: [{ name: 'b' }],
    });
    assert.deepEqual(apply({ atomic: [{ name: 'a' }] }, { atomic: [] }), { atomic: [] });
  });

  test('is 400 with contradictory directives', () => {
    refused({ items: [{ image: 'x' }] });
    refused({ items: ['a'] });
    refused({ items: [{ name: 'a', $patch: 'merge' }] });
    refused({ $patch: 'nonsense' });
    refused({ $nonsense: 1 });
    refused({ $retainKeys: ['tags'], plain: 'x' });
    refused({ $retainKeys: 'plain' });
    refused({ tags: [{ a: 1 }] });
    refused({ '$deleteFromPrimitiveList/items': ['a'] });
    refused({ '$deleteFromPrimitiveList/tags': 'x' });
    refused({ '$setElementOrder/atomic': [] });
    const unordered = {
      '$setElementOrder/items': [{ name: 'b' }, { name: 'a' }],
      items: [{ name: 'a' }, { name: 'b' }],
    };
    refused(unordered);
    refused({ '$setElementOrder/items': [{ name: 'a' }], items: [{ name: 'b' }] });
  });
});
