import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { checkout } from '../support/embedded-line.ts';

const run = promisify(execFile);

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-ci-'));
  await writeFile(join(folder, 'passes'), "#!/bin/sh\necho 'ℹ pass 1'\n", { mode: 0o755 });
});
after(() => rm(folder, { recursive: true }));

/** What CI counts when a suite was that shell command, and the files that it says have failed are run again by the other. */
async function countsOf(suite: string, again: string, began = Date.now()): Promise<string[]> {
  const work = await mkdtemp(join(folder, 'work-'));
  const script = `set -uo pipefail
    work=$0 began=$1 end=80 is_root=
    declare -A commands=([test]=$3)
    . .ci/suites
    suite here test suite sh -c "$2"
    once_more here test`;
  const words = [work, String(Math.floor(began / 1000)), suite, again];
  await run('bash', ['-c', script, ...words], { cwd: checkout });
  return (await readFile(join(work, 'counts'), 'utf8')).trim().split('\n');
}

const oneFileFailed = "echo a.test.ts > $FAILED_TEST_FILES; echo 'ℹ pass 3'";
const passes = (): string => join(folder, 'passes');

test('a file that failed counts as its second run says', async () => {
  assert.deepEqual(await countsOf(`${oneFileFailed}; exit 1`, passes()), ['pass 3']);
  assert.deepEqual(await countsOf(`${oneFileFailed}; exit 1`, 'false'), ['pass 3', 'fail 1']);
});

test('a suite that says of no file that it failed has failed itself', async () => {
  assert.deepEqual(await countsOf("echo 'ℹ pass 3'; exit 1", passes()), ['pass 3', 'fail 1']);
});

test('a suite that was ended has failed, whichever file it says has failed before', async () => {
  for (const status of [124, 137])
    assert.deepEqual(await countsOf(`${oneFileFailed}; exit ${status}`, passes()), ['pass 3', 'fail 1']);
});

test('a suite that begins when the time is over still ends', async () => {
  const began = Date.now() - 90 * 60_000;
  assert.deepEqual(await countsOf("echo 'ℹ pass 3'", passes(), began), ['pass 3']);
});
