import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { directoriesOf } from '../directories.ts';
import { SupervisionStateFile } from './supervision-state.ts';

test('a restarted agent reads the processes and the marks of their start programs', async (t) => {
  const base = await mkdtemp(join(tmpdir(), 'agent-'));
  t.after(() => rm(base, { recursive: true }));
  const directories = directoriesOf(base);
  await mkdir(directories.monit);
  const known = { pid: 7, startTicks: 70 };
  const previous = new SupervisionStateFile(directories, 'processes');
  await previous.load();
  await previous.set('web', { known, mark: '1000' });
  const load = async (): Promise<SupervisionStateFile> => {
    const file = new SupervisionStateFile(directories, 'processes');
    await file.load();
    return file;
  };
  assert.deepEqual((await load()).get('web'), { known, mark: '1000' });
  assert.deepEqual((await load()).get('other'), {});
  for (const text of ['no JSON', '[]', '{"web":{"known":{"pid":"7"},"mark":1000}}', '{"web":null}']) {
    await writeFile(join(directories.monit, 'processes.json'), text);
    assert.deepEqual((await load()).get('web'), {});
  }
});
