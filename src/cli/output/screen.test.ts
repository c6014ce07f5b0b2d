import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { openDisplay } from './display.ts';
import { fitLines } from './screen.ts';

function fakeTerminal(columns: number, rows: number) {
  const stream = Object.assign(new EventEmitter(), {
    ...{ isTTY: true, columns, rows, written: '' },
    write: (text: string) => void (stream.written += text),
  });
  const { screen } = openDisplay(stream, { TERM: 'xterm' }) ?? assert.fail('no display');
  return { stream, screen };
}

test('a picture is cut to the size of the terminal, also after it changed', () => {
  const { stream, screen } = fakeTerminal(10, 3);
  const lines = [{ text: 'a line of text', tone: 'failed' as const }, '\u001B[2Jb', 'c', 'd'];
  screen.onResize(() => screen.draw(lines));
  screen.draw(lines);
  const first = '\u001B[31ma line of…\u001B[0m\u001B[K\r\n\\u001b[2Jb\u001B[K\r\n';
  assert.ok(stream.written.endsWith(`${first}… 2 more …\u001B[K\u001B[J`), stream.written);
  stream.written = '';
  Object.assign(stream, { columns: 40, rows: 10 });
  stream.emit('resize');
  const whole = ['\u001B[31ma line of text\u001B[0m', '\\u001b[2Jb', 'c', 'd'];
  assert.ok(stream.written.endsWith(`${whole.map((line) => `${line}\u001B[K`).join('\r\n')}\u001B[J`));
  screen.close();
  assert.deepEqual(fitLines(['a', 'b'], { columns: 5, rows: 2 }), ['a', 'b']);
});

test('the terminal is restored once, and only if something was drawn', () => {
  const { stream, screen } = fakeTerminal(80, 24);
  const listeners = process.listenerCount('exit');
  screen.close();
  assert.equal(stream.written, '');
  screen.draw(['x']);
  screen.close();
  screen.close();
  assert.ok(stream.written.startsWith('\u001B[?1049h\u001B[?25l'));
  assert.ok(stream.written.endsWith('\u001B[?25h\u001B[?1049l'));
  assert.equal(stream.written.split('\u001B[?1049l').length, 2);
  assert.equal(stream.listenerCount('resize'), 0);
  assert.equal(process.listenerCount('exit'), listeners);
});
