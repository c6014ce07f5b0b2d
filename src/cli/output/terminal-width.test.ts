import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTable } from './table.ts';
import { cutToWidth, terminalWidth } from './terminal-width.ts';

test('wide characters take two columns, and marks none', () => {
  const widths = ['', 'web/0', 'Größe', 'e\u0301', '東京', '한국', '🚀', '\u200D', 'a…'].map(terminalWidth);
  assert.deepEqual(widths, [0, 5, 5, 1, 4, 4, 2, 0, 2]);
  assert.equal(formatTable(['Name', 'Age'], [['東京', '3d']]), 'Name  Age\n東京  3d\n');
});

test('a cut splits no character, and fits', () => {
  assert.deepEqual(
    [9, 8, 7, 3, 2, 1].map((columns) => cutToWidth('東京 🚀 x', columns)),
    ['東京 🚀 x', '東京 🚀…', '東京 …', '東…', '…', '…'],
  );
});
