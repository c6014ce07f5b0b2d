import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitColumns, wrapText } from './fit-columns.ts';
import { formatAge } from './format-age.ts';

test('columns are left out by their rank until the rows fit, and the most important stay', () => {
  const columns = [
    { title: 'A', rank: 0, cell: () => 'x'.repeat(10) },
    { title: 'B', rank: 2, cell: () => 'x'.repeat(5) },
    { title: 'C', rank: 1, cell: () => 'x'.repeat(5) },
  ];
  const titles = (width: number): string =>
    fitColumns(columns, ['row'], width)
      .map(({ title }) => title)
      .join('');
  assert.deepEqual([24, 23, 17, 16, 1].map(titles), ['ABC', 'AC', 'AC', 'A', 'A']);
  assert.equal(titles(Infinity), 'ABC');
});

test('a text is broken at blanks, and a word, such as a cid, is never broken', () => {
  assert.equal(wrapText('one two three', 8, '  '), 'one two\n  three\n');
  assert.equal(wrapText('  next: vm-0123456789', 8, '  '), '  next:\n  vm-0123456789\n');
  assert.equal(wrapText('a\nb', 80, ''), 'a\\u000ab\n');
});

test('ages are short, and as exact as they need to be', () => {
  const age = (seconds: number): string =>
    formatAge('2026-01-01T00:00:00Z', Date.UTC(2026, 0, 1) + seconds * 1000);
  const ages = [-5, 119, 120, 10_799, 12_000, 100_000, 200_000, 400 * 86_400].map(age);
  assert.deepEqual(ages, ['0s', '119s', '2m', '179m', '3h20m', '27h', '2d7h', '400d']);
  assert.equal(formatAge('', 0), '-');
});
