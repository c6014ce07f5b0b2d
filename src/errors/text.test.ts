import assert from 'node:assert/strict';
import { test } from 'node:test';
import { truncateAtWord, dropFirstWord } from './text.ts';

test('a text is cut between words, and a text without spaces is replaced by a note', () => {
  for (const [text, expected] of [
    ['', ''],
    ['one two', 'one two'],
    ['one two three', 'one two'],
    ['one  two345678', 'one'],
    ['onetwothree', '(11 characters without a space left out)'],
  ] as const)
    assert.equal(truncateAtWord(text, 8), expected);
});

test('the first word of a text without its beginning is dropped', () => {
  assert.equal(dropFirstWord('cret one two'), 'one two');
  assert.equal(dropFirstWord('cret\none'), 'one');
  assert.equal(dropFirstWord('cret'), '');
});
