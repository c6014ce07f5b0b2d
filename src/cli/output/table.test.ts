import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatForTerminal, formatTable, type Cell, type Paint } from './table.ts';

const paint: Paint = (text, tone) => `<${tone}>${text}</>`;

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
  assert.equal(formatForTerminal({ header: ['Disk', 'Size'], rows: [] }, 5, paint), 'Disk  Size\n');
});

test('colours are outside of the padding, and a plain table has none', () => {
  const rows: Cell[][] = [
    ['a', { text: 'ok', tone: 'ok' }, 'x'],
    ['b', { text: 'failed', tone: 'failed' }, 'y'],
  ];
  const header = ['Node', 'Result', 'More'];
  assert.equal(formatTable(header, rows), 'Node  Result  More\na     ok      x\nb     failed  y\n');
  assert.equal(
    formatForTerminal({ header, rows }, 80, paint),
    'Node  Result  More\na     <ok>ok</>      x\nb     <failed>failed</>  y\n',
  );
});

test('the last column continues below itself, if a terminal has room for it', () => {
  const table = {
    content: '',
    header: ['Check', 'What to do'],
    rows: [['version', 'update the cluster to a version that is supported']],
  };
  assert.equal(
    formatForTerminal(table, 40, paint),
    'Check    What to do\nversion  update the cluster to a version\n         that is supported\n',
  );
});

test('a narrow terminal shows a table that does not fit as blocks, a wide one as long lines', () => {
  const vm = 'vm-00000000-0000-0000-0000-000000000000';
  const table = {
    content: '',
    header: ['VM', 'State'],
    rows: [
      [vm, { text: 'failed', tone: 'failed' as const }],
      ['b', 'a\u001b[2J\nb'],
    ],
  };
  assert.equal(
    formatForTerminal(table, 40, paint),
    `VM     ${vm}\nState  <failed>failed</>\n\nVM     b\nState  a\\u001b[2J\\u000ab\n`,
  );
  assert.match(
    formatForTerminal({ ...table, rows: [['x'.repeat(90), 'up']] }, 80, paint),
    /^VM +State\nx{90} {2}up\n$/u,
  );
});
