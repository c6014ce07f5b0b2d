import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { directoriesOf } from '../directories.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { HealthFile } from './health-file.ts';

test('a failed write of health.json is logged once and repeated', async (t) => {
  const base = await mkdtemp(join(tmpdir(), 'agent-'));
  t.after(() => rm(base, { recursive: true }));
  const directories = directoriesOf(base);
  const path = join(directories.instance, 'health.json');
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  let state = 'starting';
  const health = new HealthFile({
    ...{ directories, clock: new ManualClock(), log: { info: write, error: write } },
    state: async () => state,
  });
  await health.record();
  await health.record();
  assert.equal(lines.length, 1);
  assert.match(lines.join(), /the state of the jobs: .*health\.json.*ENOENT|ENOENT.*health\.json/u);
  await mkdir(directories.instance);
  for (state of ['starting', 'running', 'failing']) {
    await health.record();
    assert.equal(await readFile(path, 'utf8'), `{"state":"${state}"}`);
  }
  assert.equal(lines.length, 1);
});
