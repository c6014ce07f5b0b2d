import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from './field.ts';

const field = (value: unknown): Field => new Field(value, 'config', 'INVALID_CONFIG');

test('reads the values of an object, with null as absent', () => {
  const root = field({
    name: 'a',
    empty: '',
    flag: false,
    count: 3,
    kind: 'b',
    hosts: ['x', 'y'],
    none: null,
    disk: { size: 1 },
  });
  assert.equal(root.get('name').nonEmptyString(), 'a');
  assert.equal(root.get('empty').string(), '');
  assert.equal(
    root.get('name').stringThat((text) => text === 'a', 'is not a'),
    'a',
  );
  assert.equal(root.get('flag').boolean(), false);
  assert.equal(root.get('count').integer({ min: 3, max: 3 }), 3);
  assert.equal(root.get('count').integer(), 3);
  assert.equal(root.get('kind').oneOf(['a', 'b']), 'b');
  assert.deepEqual(root.get('hosts').strings(), ['x', 'y']);
  assert.deepEqual(
    root
      .get('disk')
      .entries()
      .map(([key, { path, value }]) => [key, path, value]),
    [['size', 'config.disk.size', 1]],
  );
  assert.equal(root.get('name').required().value, 'a');
  for (const key of ['none', 'missing', 'toString', '__proto__']) {
    const absent = root.get(key);
    assert.equal(absent.optional(), undefined, key);
    assert.equal(absent.get('more').isPresent, false);
    assert.deepEqual([absent.record(), absent.list(), absent.strings(), absent.entries()], [{}, [], [], []]);
    absent.rejectUnknownKeys([]);
  }
});

test('an error has the path of the value and the expected type, and never the value', () => {
  const secret = 'hunter2';
  for (const [read, message] of [
    [() => field(secret).get('a'), 'config must be an object'],
    [() => field([secret]).record(), 'config must be an object'],
    [() => field(secret).rejectUnknownKeys([]), 'config must be an object'],
    [
      () =>
        field({ a: { b: secret } })
          .get('a')
          .get('b')
          .list(),
      'config.a.b must be a list',
    ],
    [
      () =>
        field({ a: ['x', ''] })
          .get('a')
          .strings(),
      'config.a[1] must be a string that is not empty',
    ],
    [
      () =>
        field({ a: [secret] })
          .get('a')
          .string(),
      'config.a must be a string',
    ],
    [() => field({ a: null }).get('a').required(), 'config.a is missing'],
    [() => field({}).get('a').string(), 'config.a is missing; it must be a string'],
    [() => field(null).boolean(), 'config is missing; it must be true or false'],
    [() => field(secret).stringThat((text) => text === 'a', 'is not a'), 'config is not a'],
    [() => field('').stringThat(() => true, 'is not a'), 'config must be a string that is not empty'],
    [() => field(secret).boolean(), 'config must be true or false'],
    [() => field(1.5).integer({ min: 1, max: 9 }), 'config must be a whole number from 1 to 9'],
    [() => field(10).integer({ min: 1, max: 9 }), 'config must be a whole number from 1 to 9'],
    [() => field(2 ** 53).integer(), 'config must be a whole number'],
    [() => field('1').integer({ min: 1, max: 9 }), 'config must be a whole number from 1 to 9'],
    [() => field(secret).oneOf(['a', 'b', 'c']), 'config must be a, b or c'],
    [() => field(secret).oneOf(['a']), 'config must be a'],
    [
      () => field({ a: 1, b: secret, c: 2 }).rejectUnknownKeys(['a', 'd']),
      'config has keys that are not supported: "b", "c" (known are a, d)',
    ],
    [
      () => field({ b: 1 }).rejectUnknownKeys([]),
      'config has keys that are not supported: "b" (none is known)',
    ],
  ] as const) {
    assert.throws(read, { name: 'ProductError', code: 'INVALID_CONFIG', message });
  }
});

test('a document can have its own errors; the path of its root is empty', () => {
  const root = new Field({ a: [{}] }, '', (path, problem) => new TypeError(`file: ${path}: ${problem}`));
  const name = (): string => root.get('a').list()[0]?.get('name').string() ?? '';
  assert.throws(name, new TypeError('file: a[0].name: is missing; it must be a string'));
});
