import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProductError } from '../../errors/product-error.ts';
import { redactor } from '../../errors/redact/redactor.ts';
import { redactedProgress } from './redacted-progress.ts';

/** Collects lines and resolves when that many have arrived. */
function collected(count: number): { say: (line: string) => void; lines: Promise<readonly string[]> } {
  const lines: string[] = [];
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  return {
    lines: promise,
    say: (line) => {
      if (lines.push(line) === count) resolve(lines);
    },
  };
}

test('a token that is issued after the first line is redacted in the second one', async () => {
  const tokens = ['token-of-the-start'];
  const { say, lines } = collected(2);
  const first = collected(1);
  const both = (line: string): void => {
    say(line);
    first.say(line);
  };
  const redacted = redactedProgress(both, () =>
    Promise.resolve(redactor(...tokens.map((token) => ({ token })))),
  );
  redacted('asked with token-of-the-start');
  await first.lines;
  tokens.push('token-of-later');
  redacted('asked with token-of-later, not with token-of-the-start');
  assert.deepEqual(await lines, ['asked with <redacted>', 'asked with <redacted>, not with <redacted>']);
});

test('a line whose secrets cannot be read is replaced by a note, and the next lines come in order', async () => {
  let calls = 0;
  const { say, lines } = collected(3);
  const redacted = redactedProgress(say, async () => {
    calls += 1;
    if (calls === 1) throw new ProductError('INVALID_CONFIG', 'the plugin failed with the-secret');
    if (calls === 2) throw new TypeError('the-secret');
    return (text) => text;
  });
  for (const line of ['first the-secret', 'second the-secret', 'third']) redacted(line);
  const [one = '', two = '', three] = await lines;
  assert.match(one, /^a progress line .* is not shown: .*\[INVALID_CONFIG\]/u);
  assert.match(two, /^a progress line .* is not shown: .*\[TypeError\]/u);
  assert.ok(!`${one}${two}`.includes('the-secret'));
  assert.equal(three, 'third');
});
