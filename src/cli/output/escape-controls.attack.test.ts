import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { escapeControls, indentFollowing } from './terminal.ts';

test('no text that is written moves the cursor, clears the screen or changes the direction of the line', () => {
  const attacks = ['\u001b[2J', '\r', '\b', '\u009b31m', '\u202e', '\u2066', '\u0007', '\u2028', '\u007f'];
  const text = fc
    .array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...attacks)))
    .map((all) => all.join(''));
  fc.assert(
    fc.property(text, (hostile) => {
      assert.doesNotMatch(escapeControls(hostile), /[^\P{Cc}\n\t]|\p{Bidi_Control}|\p{Zl}|\p{Zp}/u);
    }),
  );
  fc.assert(
    fc.property(text, (hostile) => {
      const harmless = hostile.replaceAll(/[^\P{Cc}\n\t]|\p{Bidi_Control}|\p{Zl}|\p{Zp}/gu, '');
      assert.equal(escapeControls(harmless), harmless);
    }),
  );
  assert.equal(escapeControls('a\u001b[2Jb\r\n\tc\u202e'), 'a\\u001b[2Jb\\u000d\n\tc\\u202e');
});

test('no line of a text that a message quotes begins in the column of our messages', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', '\n', ' ', '\t', '\r', '\ufeff', '\u00a0', 'Succeeded')),
      (all) => {
        const [, ...following] = escapeControls(indentFollowing(all.join(''))).split('\n');
        for (const line of following) assert.match(line, /^(?:$|[ \t])/u);
      },
    ),
  );
  assert.equal(indentFollowing('a\n  b\n\nc\n'), 'a\n  b\n\n  c\n');
});

test(
  'an error of a command that quotes a name with a line end prints no line of its own',
  { timeout: 120_000 },
  () => {
    const { stderr } = spawnSync(
      process.execPath,
      [join(import.meta.dirname, '..', 'main.ts'), 'create-env', '/none/a\nSucceeded'],
      { env: { PATH: process.env['PATH'], HOME: '/none', BOSH_KUBERNETES_HOME: '/none' }, encoding: 'utf8' },
    );
    assert.match(stderr, /Succeeded/u);
    assert.doesNotMatch(stderr, /^Succeeded/mu);
  },
);

test(
  'an error of a command that quotes a name with escape sequences shows them',
  { timeout: 120_000 },
  () => {
    const { stderr, status } = spawnSync(
      process.execPath,
      [join(import.meta.dirname, '..', 'main.ts'), 'create-env', '/none/\u001b[2J\u202egood.yml'],
      { env: { PATH: process.env['PATH'], HOME: '/none', BOSH_KUBERNETES_HOME: '/none' }, encoding: 'utf8' },
    );
    assert.equal(status, 1);
    assert.match(stderr, /\\u001b\[2J\\u202egood\.yml/);
    assert.equal(stderr, escapeControls(stderr));
  },
);
