import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest } from './nearest.ts';

test('finds the word that an operator mistyped or did not finish, and no other', () => {
  const commands = ['up', 'stop', 'status', 'stemcell', 'ssh', 'scp', 'create-env'];
  for (const [word, expected] of [
    ['upp', 'up'],
    ['stpo', 'stop'],
    ['statsu', 'status'],
    ['creat-env', 'create-env'],
    ['stem', 'stemcell'],
    ['x', undefined],
    ['pu', 'up'],
    ['delete', undefined],
    ['scsh', 'ssh'],
    ['soap', undefined],
    ['', undefined],
  ] as const)
    assert.equal(nearest(word, commands), expected, word);
});
