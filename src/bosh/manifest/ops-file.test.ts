import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { scratchDirectory } from '../testing/scratch.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { toValue } from '../yaml/yaml-node.ts';
import { applyOperations, readOpsFile } from './ops-file.ts';
import { parsePath } from './patch-path.ts';

const document = `
key: 1
key2: {nested: {super_nested: 2}, other: 3}
array: [4, 5, 6]
items: [{name: item7}, {name: item8}, {name: item8}]
items2: [{name: one, value: 1}, {name: two, value: 2}]
`;

async function patch(t: TestContext, operations: string, text = document): Promise<unknown> {
  const path = join(await scratchDirectory(t), 'ops.yml');
  await writeFile(path, operations);
  return toValue(
    applyOperations(parseYaml(text, 'manifest.yml', 'MANIFEST_INVALID'), await readOpsFile(path)),
  );
}

const replace = (path: string, value: unknown): string => JSON.stringify([{ type: 'replace', path, value }]);
const remove = (path: string): string => JSON.stringify([{ type: 'remove', path }]);
const original = toValue(parseYaml(document, 'manifest.yml', 'MANIFEST_INVALID')) as Readonly<
  Record<string, unknown>
>;

test('each operation has the same result as with go-patch', async (t) => {
  const items = [{ name: 'item7' }, { name: 'item8' }, { name: 'item8' }];
  const [one, two] = [
    { name: 'one', value: 1 },
    { name: 'two', value: 2 },
  ];
  const cases: readonly (readonly [operation: string, changed: Readonly<Record<string, unknown>>])[] = [
    [replace('/key', 9), { key: 9 }],
    [replace('/key2/nested/super_nested', 9), { key2: { nested: { super_nested: 9 }, other: 3 } }],
    [
      replace('/key2/nested?/another/super', 9),
      { key2: { nested: { super_nested: 2, another: { super: 9 } }, other: 3 } },
    ],
    [replace('/new?/a/b', 9), { new: { a: { b: 9 } } }],
    [replace('/new?/-', 9), { new: [9] }],
    [replace('/new?/name=x/value', 9), { new: [{ name: 'x', value: 9 }] }],
    [replace('/array/0', 9), { array: [9, 5, 6] }],
    [replace('/array/-1', 9), { array: [4, 5, 9] }],
    [replace('/array/-', 9), { array: [4, 5, 6, 9] }],
    [replace('/array/0:before', 9), { array: [9, 4, 5, 6] }],
    [replace('/array/0:after', 9), { array: [4, 9, 5, 6] }],
    [replace('/array/-1:after', 9), { array: [4, 5, 6, 9] }],
    [replace('/array/0:next', 9), { array: [4, 9, 6] }],
    [replace('/items/name=item7/count?', 9), { items: [{ name: 'item7', count: 9 }, items[1], items[2]] }],
    [replace('/items/name=item9?/count', 9), { items: [...items, { name: 'item9', count: 9 }] }],
    [replace('/items/name=item9?', { name: 'item9' }), { items: [...items, { name: 'item9' }] }],
    [replace('/items2/name=one:after', 9), { items2: [one, 9, two] }],
    [replace('/items2/name=one:next/value', 9), { items2: [one, { name: 'two', value: 9 }] }],
    [remove('/key'), { key: undefined }],
    [remove('/absent?'), {}],
    [remove('/absent?/deeper/still'), {}],
    [remove('/array/1'), { array: [4, 6] }],
    [remove('/items2/name=one'), { items2: [two] }],
    [remove('/items/name=none?'), {}],
    [remove('/key2/nested/super_nested'), { key2: { nested: {}, other: 3 } }],
    [JSON.stringify([{ type: 'test', path: '/key', value: 1 }]), {}],
    [JSON.stringify([{ type: 'test', path: '/none', absent: true }]), {}],
  ];
  for (const [operation, changed] of cases) {
    const expected = Object.fromEntries(
      Object.entries({ ...original, ...changed }).filter(([, value]) => value !== undefined),
    );
    assert.deepEqual(await patch(t, operation), expected, operation);
  }
});

test('the whole document can be replaced', async (t) => {
  assert.deepEqual(await patch(t, replace('', [1])), [1]);
});

test('operations apply in order, and do not share inserted values', async (t) => {
  const operations = `
- {type: replace, path: /a?, value: &v {x: 1}}
- {type: replace, path: /b?, value: *v}
- {type: replace, path: /a/x, value: 2}
`;
  assert.deepEqual(await patch(t, operations, '{}'), { a: { x: 2 }, b: { x: 1 } });
});

test('an operation that cannot be applied names file, line and path', async (t) => {
  const cases: Readonly<Record<string, RegExp>> = {
    [replace('/none', 9)]:
      /ops\.yml:1:2: cannot replace '\/none': there is no key 'none' for '\/none'; there are 'array'/,
    [replace('/key2/none/deep', 9)]: /no key 'none' for '\/key2\/none'; there are 'nested', 'other'/,
    [replace('/array/7', 9)]: /no item 7 at '\/array\/7', the list has 3/,
    [replace('/items/name=item8', 9)]: /exactly one item that matches '\/items\/name=item8' but found 2/,
    [replace('/items/name=none', 9)]: /but found 0/,
    [replace('/key/deeper', 9)]: /expected a map for '\/key\/deeper' but found a number/,
    [replace('/key2/0', 9)]: /expected a list for '\/key2\/0' but found a map/,
    [replace('/new?/0', 9)]: /is missing, so it has no items by number/,
    [remove('')]: /cannot remove '': the whole document cannot be removed/,
    [remove('/array/-')]: /nothing can be removed at '\/array\/-'/,
    [remove('/none')]: /there is no key 'none'/,
    [JSON.stringify([{ type: 'test', path: '/key', value: 2 }])]: /is not the expected value/,
    [JSON.stringify([{ type: 'test', path: '/key', absent: true }])]: /expected no value at '\/key'/,
    [JSON.stringify([{ type: 'remove', path: '/none', error: 'Take another' }])]:
      /'\/none': Take another: there is no key/,
  };
  for (const [operation, message] of Object.entries(cases)) {
    await assert.rejects(patch(t, operation), { code: 'MANIFEST_INVALID', message }, operation);
  }
});

test('an invalid ops file is refused with one line per error', async (t) => {
  const operations = `
- type: replace
  path: /a
- type: remove
  path: a/b
- type: move
  path: /a
- type: remove
- path: /a:up
  type: remove
- {type: replace, path: /a, value: ~}
- {type: test, path: /a, value: null}
- {type: remove, path: /a, value: ~}
`;
  await assert.rejects(patch(t, operations), (error: Error) => {
    const lines = error.message.split('\n').map((line) => line.replace(/^.*ops\.yml/, 'ops.yml'));
    assert.deepEqual(lines, [
      "ops.yml:2:3: [0]: a 'replace' needs a 'value' other than null",
      "ops.yml:5:9: [1].path: the path must start with '/'",
      "ops.yml:6:9: [2].type: 'move' is not an operation; expected replace, remove or test",
      "ops.yml:8:3: [3]: the operation has no 'path'",
      "ops.yml:9:9: [4].path: expected one of the modifiers 'prev', 'next', 'before' or 'after' but found 'up'",
      "ops.yml:11:3: [5]: a 'replace' needs a 'value' other than null",
      "ops.yml:12:3: [6]: a 'test' needs a 'value' other than null, or 'absent: true'",
    ]);
    return true;
  });
});

test('property: a path is parsed or refused with a reason', () => {
  const path = fc.string({ unit: fc.constantFrom('/', 'a', '0', '-', '?', '=', ':', '~', '1', 'next') });
  fc.assert(
    fc.property(path, (text) => {
      try {
        const tokens = parsePath(text);
        assert.equal(tokens.length, text === '' ? 0 : text.split('/').length - 1);
      } catch (error) {
        assert.ok(
          error instanceof Error && error.constructor === Error && error.message !== '',
          String(error),
        );
      }
    }),
  );
});

test('special characters of a path can be escaped', () => {
  assert.deepEqual(parsePath('/a~1b/c~7d/e~0f'), [
    { kind: 'key', key: 'a/b', optional: false },
    { kind: 'key', key: 'c:d', optional: false },
    { kind: 'key', key: 'e~f', optional: false },
  ]);
});
