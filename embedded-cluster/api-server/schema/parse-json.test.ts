import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { parseJson } from './parse-json.ts';

const duplicatesIn = (text: string): readonly string[] => parseJson(text).duplicates;

test('duplicate members are reported by path, and the last one counts', () => {
  assert.deepEqual(parseJson('{"a":1,"b":{"c":[{"d":1,"d":2},{"d":3}]},"a":2}'), {
    value: { a: 2, b: { c: [{ d: 2 }, { d: 3 }] } },
    duplicates: ['b.c[0].d', 'a'],
  });
  assert.deepEqual(duplicatesIn('[{"x":1},{"x":1,"x":1}]'), ['[1].x']);
  assert.deepEqual(duplicatesIn('{"a":{"k":1},"b":{"k":1}}'), []);
});

test('a key in another spelling is a duplicate, and keys with JSON syntax are not', () => {
  assert.deepEqual(duplicatesIn('{"a":1,"\\u0061":2}'), ['a']);
  assert.deepEqual(duplicatesIn('{"a\\"}":1,"{":"a","a":":,\\\\"}'), []);
  assert.deepEqual(duplicatesIn('{"__proto__":1,"__proto__":2}'), ['__proto__']);
});

test('nesting and numbers are limited', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  assert.deepEqual(duplicatesIn(nested(200)), []);
  assert.throws(
    () => parseJson(nested(201)),
    (error) => isApiError(error, 400),
  );
  assert.throws(
    () => parseJson('{"a":1e999}'),
    (error) => isApiError(error, 400) && error.message.includes('out of range'),
  );
  assert.deepEqual(parseJson('[-0.5e-3, 12]').value, [-0.0005, 12]);
});

test('lone surrogates are replaced, and pairs and escaped text are kept', () => {
  assert.deepEqual(parseJson('["\\ud800x","\\ud83d\\ude00","\\\\ud800","\\udc00"]').value, [
    '\ufffdx',
    '😀',
    '\\ud800',
    '\ufffd',
  ]);
  assert.deepEqual(parseJson('{"\\udfff":1}').value, { '\ufffd': 1 });
});

test('invalid JSON is a SyntaxError, and every JSON value is parsed without duplicates', () => {
  assert.throws(() => parseJson('{'), SyntaxError);
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      assert.deepEqual(parseJson(text), { value: JSON.parse(text), duplicates: [] });
    }),
  );
});

test('each member repeated anywhere is found', () => {
  const key = fc.string({ minLength: 1 });
  fc.assert(
    fc.property(fc.uniqueArray(key, { minLength: 1 }), fc.jsonValue(), (keys, value) => {
      const members = keys.map((one) => `${JSON.stringify(one)}:${JSON.stringify(value)}`);
      const text = `{"outer":{${[...members, ...members].join(',')}}}`;
      assert.deepEqual(
        duplicatesIn(text),
        keys.slice(0, 100).map((one) => `outer.${one}`),
      );
    }),
  );
});
