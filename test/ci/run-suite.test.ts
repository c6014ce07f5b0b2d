import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { checkout } from '../support/embedded-environment.ts';

/** What CI ends with when one suite ran that shell command and its failed files run again by the other. */
function endOf(suite: string, again = 'exit 1', minutes = '1'): { lines: string[]; code: number | null } {
  const script = '. .ci/run-suite; rerun=(sh -c "$1" rerun); suite "$2" sh -c "$0"; finish';
  const { stdout, status } = spawnSync('bash', ['-uo', 'pipefail', '-c', script, suite, again, minutes], {
    cwd: checkout,
    encoding: 'utf8',
  });
  const lines = stdout.trimEnd().split('\n');
  const named = lines.filter((line) => /^(FLAKY|FAILED): /u.test(line));
  return { lines: [...named, lines.at(-1) ?? ''], code: status };
}

/** Returns what `together` prints and counts for two functions, each of which runs one suite. */
function endOfBoth(first: string, second: string): readonly string[] {
  const script = `. .ci/run-suite; rerun=(sh -c 'echo "again $0"; echo "2 passed, 0 failed, 0 skipped"')
one() { suite 1 sh -c "$ONE"; }; two() { suite 1 sh -c "$TWO"; }; together one two; finish`;
  const { stdout } = spawnSync('bash', ['-uo', 'pipefail', '-c', script], {
    cwd: checkout,
    encoding: 'utf8',
    env: { ...process.env, ONE: first, TWO: second },
  });
  return stdout.split('\n').filter((line) => /^(again|FLAKY|FAILED|\d+ passed)/u.test(line));
}

const fileFailed = 'echo a.test.ts > $FAILED_TEST_FILES; echo "3 passed, 1 failed, 2 skipped"; exit 1';

test('a suite that passes is counted', () => {
  assert.deepEqual(endOf('echo "3 passed, 0 failed, 2 skipped"'), {
    lines: ['3 passed, 0 failed, 2 skipped'],
    code: 0,
  });
});

test('a failed file runs again: it is flaky if it passes then, and has failed otherwise', () => {
  assert.deepEqual(endOf(fileFailed, 'echo "4 passed, 0 failed, 0 skipped"').lines, [
    'FLAKY: a.test.ts',
    '4 passed, 0 failed, 2 skipped',
  ]);
  for (const again of [
    'echo "3 passed, 1 failed, 0 skipped"; exit 1',
    'echo "0 passed, 0 failed, 4 skipped"',
    'exit 1',
  ])
    assert.deepEqual(
      endOf(fileFailed, again),
      { lines: ['FAILED: a.test.ts', '3 passed, 1 failed, 2 skipped'], code: 1 },
      again,
    );
});

test('a suite that fails without naming a file, or without a count, has failed', () => {
  for (const suite of [
    'echo "3 passed, 1 failed, 0 skipped"; exit 1',
    'echo a > $FAILED_TEST_FILES; exit 1',
  ]) {
    const { lines, code } = endOf(suite, 'echo "4 passed, 0 failed, 0 skipped"');
    assert.match(lines.at(-2) ?? '', /^FAILED: sh -c /u);
    assert.match(lines.at(-1) ?? '', /^\d passed, 1 failed, 0 skipped$/u);
    assert.equal(code, 1);
  }
});

test('a suite that is over its time limit has failed, whatever files it named before', () => {
  const suite = 'echo a.test.ts > $FAILED_TEST_FILES; echo "3 passed, 1 failed, 0 skipped"; sleep 60';
  const { lines, code } = endOf(suite, 'echo "4 passed, 0 failed, 0 skipped"', '0.01');
  assert.match(lines.at(-2) ?? '', /^FAILED: .* \(ended with 124 after/u);
  assert.equal(lines.at(-1), '3 passed, 1 failed, 0 skipped');
  assert.equal(code, 1);
});

test('suites that run together are counted together, and their failed files run again', () => {
  const passes = 'echo "3 passed, 0 failed, 2 skipped"';
  assert.equal(endOfBoth(passes, passes).at(-1), '6 passed, 0 failed, 4 skipped');
  const lines = endOfBoth(fileFailed, 'exit 1');
  assert.ok(lines.includes('again a.test.ts'), lines.join('\n'));
  assert.deepEqual(lines.slice(-3), [
    'FLAKY: a.test.ts',
    'FAILED: sh -c exit 1',
    '4 passed, 1 failed, 2 skipped',
  ]);
});

test('suites that run together run at the same time', () => {
  const fifo = join(mkdtempSync(join(tmpdir(), 'together-')), 'fifo');
  // Opening a FIFO blocks until the other side opens it, too.
  const ends = endOfBoth(
    `mkfifo ${fifo}; echo met > ${fifo}; echo "1 passed, 0 failed, 0 skipped"`,
    `until [ -p ${fifo} ]; do sleep 0.1; done; cat ${fifo}; echo "1 passed, 0 failed, 0 skipped"`,
  );
  rmSync(dirname(fifo), { recursive: true });
  assert.equal(ends.at(-1), '2 passed, 0 failed, 0 skipped');
});
