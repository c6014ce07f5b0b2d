import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineLog } from './log.ts';

test('an event is one line without control characters, and not longer than a screen', () => {
  const lines: string[] = [];
  const log = lineLog(
    (line) => lines.push(line),
    () => 0,
  );
  log.error('first\u001b[2J\r1970-01-01 INFO a line of another\u2028event\nthe output of a program');
  log.info('x'.repeat(10_000));
  assert.equal(
    lines[0],
    '1970-01-01T00:00:00.000Z ERROR first\\u001b[2J\\u000d1970-01-01 INFO a line of another\\u2028event\n',
  );
  assert.ok((lines[1] ?? '').length < 600);
});
