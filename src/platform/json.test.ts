import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJsonObject, tryParseJson } from './json.ts';

test('parses JSON, and returns undefined for any other text', () => {
  assert.deepEqual(tryParseJson('[1, "a", null]'), [1, 'a', null]);
  assert.equal(tryParseJson('null'), null);
  for (const text of ['', 'secret', '{"a":', '{} {}']) assert.equal(tryParseJson(text), undefined, text);
});

test('parses only objects as objects', () => {
  assert.deepEqual(parseJsonObject('{"a": 1}'), { a: 1 });
  for (const text of ['[]', 'null', '1', '"{}"', 'secret'])
    assert.equal(parseJsonObject(text), undefined, text);
});
