import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runLanes } from './run-lanes.ts';
import type { ParallelGroup } from './suites.ts';

let directory = '';
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-lanes-'));
});
after(() => rm(directory, { recursive: true }));

const laneOf = (cluster: number, file: string): ParallelGroup => ({
  cluster,
  groups: [{ files: [file], concurrency: 1 }],
});

/** Runs `action` with the variable that CI sets. */
async function withFailedFiles<T>(action: () => Promise<T>): Promise<{ answer: T; failed: string[] }> {
  const path = join(directory, 'failed');
  await writeFile(path, '');
  const { FAILED_TEST_FILES: previous } = process.env;
  process.env['FAILED_TEST_FILES'] = path;
  try {
    const answer = await action();
    return { answer, failed: (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '') };
  } finally {
    if (previous === undefined) delete process.env['FAILED_TEST_FILES'];
    else process.env['FAILED_TEST_FILES'] = previous;
  }
}

/** Runs tests of which one passes, as the reporter counts it. */
async function run(command: readonly string[]): Promise<number> {
  const reporter = command.findIndex((word) => word.endsWith('test-results.mjs'));
  const [, counts = assert.fail(command.join(' '))] = command[reporter + 1]?.split('destination=') ?? [];
  await writeFile(counts, JSON.stringify({ passed: 1, failed: 0, cancelled: 0, skipped: 0 }));
  return 0;
}

test('if a cluster does not start, all files of its lane have failed, and the other lanes run', async (t) => {
  const errors = t.mock.method(console, 'error', () => {});
  const lanes = [laneOf(0, 'passes'), laneOf(1, 'never-run'), laneOf(1, 'neither'), laneOf(2, 'passes')];
  const closed: string[] = [];
  const { answer, failed } = await withFailedFiles(() =>
    runLanes(lanes, {
      names: ['a', 'a-2', 'a-3'],
      open: (name) => (name === 'a-2' ? Promise.reject(new Error('no node is Ready')) : Promise.resolve(run)),
      close: (name) => Promise.resolve(void closed.push(name)),
    }),
  );
  assert.deepEqual(answer, { passed: 2, failed: 2, skipped: 0 });
  assert.deepEqual(failed, ['never-run', 'neither']);
  assert.deepEqual(closed.toSorted(), ['a', 'a-3']);
  assert.match(
    String(errors.mock.calls[0]?.arguments[0]),
    /cluster a-2: no node is Ready.*never-run, neither/u,
  );
});

test('if a cluster cannot be removed, all files of its lane have failed', async (t) => {
  t.mock.method(console, 'error', () => {});
  const { answer, failed } = await withFailedFiles(() =>
    runLanes([laneOf(0, 'passes')], {
      names: ['a'],
      open: () => Promise.resolve(run),
      close: () => Promise.reject(new Error('a mount is busy')),
    }),
  );
  assert.deepEqual(answer, { passed: 0, failed: 1, skipped: 0 });
  assert.deepEqual(failed, ['passes']);
});
