import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTable } from './terminal.ts';

test('pads every column to its widest cell and leaves no trailing blanks', () => {
  const text = formatTable(
    ['Instance', 'State'],
    [
      ['hello/0', 'running'],
      ['a-much-longer-name/0', '-'],
    ],
  );

  assert.equal(text, 'Instance              State\nhello/0               running\na-much-longer-name/0  -\n');
});

test('prints only the heading of a table without rows', () => {
  assert.equal(formatTable(['Disk', 'Size'], []), 'Disk  Size\n');
});
