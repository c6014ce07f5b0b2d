import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { WriteStream } from 'node:tty';
import { fitLines, openScreen } from './screen.ts';

function fakeTerminal(columns: number, rows: number) {
  const stream = Object.assign(new EventEmitter(), {
    ...{ isTTY: true, columns, rows, written: '' },
    write: (text: string) => {
      stream.written += text;
      return true;
    },
  });
  return stream;
}

test('a picture is cut to the size of the terminal, also after it changed', () => {
  const stream = fakeTerminal(10, 3);
  const screen = openScreen(stream as unknown as WriteStream, 'xterm');
  assert.ok(screen);
  const text = 'a line of text\nb\nc\nd\n';
  screen.onResize(() => screen.draw(text));
  screen.draw(text);
  assert.ok(stream.written.endsWith('a line of…\u001B[K\r\nb\u001B[K\r\n… 2 more …\u001B[K\u001B[J'));
  stream.written = '';
  Object.assign(stream, { columns: 40, rows: 10 });
  stream.emit('resize');
  const whole = ['a line of text', 'b', 'c', 'd'].map((line) => `${line}\u001B[K`).join('\r\n');
  assert.ok(stream.written.endsWith(`${whole}\u001B[J`));
  screen.close();
  assert.deepEqual(fitLines('a\nb\n', { columns: 5, rows: 2 }), ['a', 'b']);
});

test('the terminal is restored once, and only if something was drawn', () => {
  const stream = fakeTerminal(80, 24);
  const listeners = process.listenerCount('exit');
  const screen = openScreen(stream as unknown as WriteStream, 'xterm');
  screen?.close();
  assert.equal(stream.written, '');
  screen?.draw('x');
  screen?.close();
  screen?.close();
  assert.ok(stream.written.startsWith('\u001B[?1049h\u001B[?25l'));
  assert.ok(stream.written.endsWith('\u001B[?25h\u001B[?1049l'));
  assert.equal(stream.written.split('\u001B[?1049l').length, 2);
  assert.equal(stream.listenerCount('resize'), 0);
  assert.equal(process.listenerCount('exit'), listeners);
  assert.equal(openScreen(stream as unknown as WriteStream, 'dumb'), undefined);
  stream.isTTY = false;
  assert.equal(openScreen(stream as unknown as WriteStream, 'xterm'), undefined);
});
