import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { shellWord } from './shell-word.ts';

test('a shell reads each word as the text that it was', () => {
  const text = fc.string({ unit: 'grapheme' }).filter((each) => !each.includes('\0'));
  fc.assert(
    fc.property(fc.array(text, { minLength: 1 }), (texts) => {
      const line = texts.map(shellWord).join(' ');
      const { stdout } = spawnSync('sh', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' });
      assert.deepEqual(stdout.split('\0').slice(0, -1), texts);
    }),
    { numRuns: 30 },
  );
});
