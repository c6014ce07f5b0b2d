import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJsonObject, tryDecodeUtf8, tryParseJson } from './json.ts';

test('parses JSON, and returns undefined for other texts', () => {
  assert.deepEqual(tryParseJson('[1, null]'), [1, null]);
  assert.equal(tryParseJson('null'), null);
  for (const text of ['', '{', '{"password": "secret"', 'NaN']) assert.equal(tryParseJson(text), undefined);
});

test('returns only objects as objects', () => {
  assert.deepEqual(parseJsonObject('{"a": [1]}'), { a: [1] });
  for (const text of ['', '5', 'null', '[]', '"text"', '{']) assert.equal(parseJsonObject(text), undefined);
});

test('decodes UTF-8, and returns undefined for other bytes', () => {
  assert.equal(tryDecodeUtf8(Buffer.from('Grüße')), 'Grüße');
  assert.equal(tryDecodeUtf8(Buffer.from('Grüße', 'latin1')), undefined);
});
