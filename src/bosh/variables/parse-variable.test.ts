import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseVariable } from './parse-variable.ts';

test('the value of a flag is YAML as the bosh CLI reads it', () => {
  assert.deepEqual(
    ['yes', '0755', '', '1:30', '{a: [1, x]}', '"5"', '-----BEGIN X'].map((text) => parseVariable('v', text)),
    [true, 493, null, '1:30', { a: [1, 'x'] }, '5', '-----BEGIN X'],
  );
});

test('a value that is no YAML is refused without being shown', () => {
  assert.throws(
    () => parseVariable('pw', '[hunter2'),
    (error: Error & { code?: string }) => {
      assert.equal(error.code, 'INVALID_ARGUMENT');
      assert.match(error.message, /^-v pw=…:1:\d+: /);
      assert.ok(!error.message.includes('hunter2'));
      return true;
    },
  );
});
