import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseVariable } from './parse-variable.ts';

const parse = (text: string): unknown => parseVariable('v', text);

test('the value of a flag is read as YAML like in the bosh CLI', () => {
  assert.deepEqual(['yes', '0755', '~', '~ # none', '1:30', '{a: [1, x]}', '-----BEGIN X'].map(parse), [
    true,
    493,
    null,
    null,
    '1:30',
    { a: [1, 'x'] },
    '-----BEGIN X',
  ]);
});

test('a whole number keeps its digits up to 64 bits, and is refused above', () => {
  assert.deepEqual(['9007199254740993', '18446744073709551615', '[0xFFFFFFFFFFFFFFFF]'].map(parse), [
    9_007_199_254_740_993n,
    18_446_744_073_709_551_615n,
    [18_446_744_073_709_551_615n],
  ]);
  for (const text of ['18446744073709551616', '-9223372036854775809', '+18446744073709551615'])
    assert.throws(() => parse(text), {
      code: 'INVALID_ARGUMENT',
      message: /^-v v=…:1:1: the number is too large; put it in quotes; --var-file/,
    });
});

test('text that is not plain YAML is kept unchanged', () => {
  for (const text of [
    ' padded ',
    'before #after',
    '!secret',
    '!secret with more',
    '!!str 5',
    'back\\slash',
    'one\ntwo\n',
    'one\n---\ntwo',
    '--- x',
    '|',
    '>',
    '&anchor text',
    'say "this"',
    ' "a" ',
    '2001-01-01',
  ])
    assert.equal(parse(text), text);
});

test('a value that is only a YAML comment or marker is kept unchanged, and does not become empty', () => {
  for (const text of ['#secret', '---', '&secret', '  ', '...']) assert.equal(parse(text), text);
});

test('only one pair of wrapping quotes is removed from a text', () => {
  assert.deepEqual(['"5"', "'5'", `"a\\nb"`, `'it''s'`, `"'x'"`, "''", '"@x"'].map(parse), [
    '5',
    '5',
    'a\\nb',
    "it''s",
    "'x'",
    '',
    '@x',
  ]);
});

test('a flag without a value is refused', () => {
  assert.throws(() => parse(''), { code: 'INVALID_ARGUMENT', message: /^-v v= has no value/ });
});

test('a value that is invalid YAML is refused without a quote of it', () => {
  assert.throws(
    () => parseVariable('pw', '[hunter2'),
    (error: Error & { code?: string }) => {
      assert.equal(error.code, 'INVALID_ARGUMENT');
      assert.match(error.message, /^-v pw=…:1:\d+: .*--var-file/);
      assert.ok(!error.message.includes('hunter2'));
      return true;
    },
  );
});
