import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { openDisplay } from './display.ts';

function opened(environment: Record<string, string> = {}, columns = 20) {
  const stream = Object.assign(new EventEmitter(), {
    ...{ isTTY: true, columns, written: '' },
    write: (text: string) => void (stream.written += text),
  });
  const display = openDisplay(stream, environment) ?? assert.fail('no display');
  return { stream, display };
}

const table = { content: '', header: ['Result'], rows: [[{ text: 'bad', tone: 'failed' as const }]] };

test('only a terminal that can move its cursor has a display', () => {
  const { stream } = opened();
  assert.equal(openDisplay(stream, { TERM: 'dumb' }), undefined);
  assert.equal(openDisplay(Object.assign(stream, { isTTY: false }), {}), undefined);
});

test('colours the cells of a table and lines, unless NO_COLOR is set', () => {
  for (const [environment, cell] of [
    [{}, '\u001b[31mbad\u001b[0m'],
    [{ NO_COLOR: '' }, '\u001b[31mbad\u001b[0m'],
    [{ NO_COLOR: '1' }, 'bad'],
  ] as const) {
    const { display, stream } = opened(environment);
    display.table(table);
    display.lines(['a\u001b[2J', { text: 'bad', tone: 'failed' }]);
    assert.equal(stream.written, `Result\n${cell}\n\na\\u001b[2J\n${cell}\n`);
  }
});

test('other output is written above the live line, which keeps its end at any width', () => {
  const { display, stream } = opened();
  const taken = (): string => {
    const { written } = stream;
    stream.written = '';
    return written.replaceAll('\r\u001b[2K', '|');
  };
  display.live('Compiling a\u001b[2J', ' 1 s');
  assert.equal(taken(), '|Compiling a\\u0… 1 s');
  display.beside('note\n', () => stream.write('note\n'));
  assert.equal(taken(), '|note\n|Compiling a\\u0… 1 s');
  stream.columns = 10;
  display.live('Compiling', ' 2 s');
  assert.equal(taken(), '|Comp… 2 s');
  display.live('');
  display.beside('end\n', () => stream.write('end\n'));
  assert.equal(taken(), '|end\n');
});
