import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { scratchDirectory } from '../bosh/testing/scratch.ts';
import { readDirectorFile, writeDirectory } from './director-directory.ts';

const file = {
  cluster: { server: 'https://192.0.2.1:6443', kubeconfig: '/home/op/.kube/config' },
  ...({ way: 'tunnel', namespaces: ['bosh'], networks: [], address: '10.96.0.50' } as const),
};
/** The record names the run as its context. */
const recordOf = (run: string): typeof file & { context: string } => ({ ...file, context: run });
const filesOf = (run: string): Record<string, string> => ({
  'vars.yml': `run: ${run}\n`,
  'ops/cpi.yml': `# ${run}\n`,
  'cloud-foundry/ops/sizes.yml': `# ${run}\n`,
  'commands.sh': `echo ${run}\n`,
});

/** A script that writes a folder and is killed before or after its n-th rename. */
const killed = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
const [directory, files, file, count, when] = process.argv.slice(2);
const rename = fs.renameSync;
let left = Number(count);
fs.renameSync = (from, to) => {
  left -= 1;
  if (left > 0) return rename(from, to);
  if (when === 'after') rename(from, to);
  process.kill(process.pid, 'SIGKILL');
};
syncBuiltinESMExports();
const { writeDirectory } = await import(${JSON.stringify(join(import.meta.dirname, 'director-directory.ts'))});
await writeDirectory(directory, JSON.parse(files), JSON.parse(file));
`;

async function runKilled(t: TestContext, directory: string, count: number, when: string): Promise<void> {
  const script = join(await scratchDirectory(t), 'killed.mjs');
  await writeFile(script, killed);
  const texts = [JSON.stringify(filesOf('killed')), JSON.stringify(recordOf('killed')), String(count), when];
  const run = spawnSync(process.execPath, [script, directory, ...texts], { encoding: 'utf8' });
  assert.equal(run.signal, 'SIGKILL', run.stderr);
}

/**
 * The commands must not deploy files that the record does not describe: the next run would not know of
 * it.
 */
async function assertCommandsMatch(directory: string, label: string): Promise<void> {
  if (!(await readdir(directory)).includes('commands.sh')) return;
  const commands = await readFile(join(directory, 'commands.sh'), 'utf8');
  const run = commands.replace('echo ', '').trim();
  assert.equal((await readDirectorFile(directory))?.context, run, label);
  for (const [path, text] of Object.entries(filesOf(run)))
    assert.equal(await readFile(join(directory, path), 'utf8'), text, `${label}: ${path}`);
}

test('a run that is killed at any write leaves a folder that the next run completes', async (t) => {
  for (const hasPrevious of [false, true])
    // the journal, three files, director.json, commands.sh
    for (const [count, when] of [
      ...[1, 2, 3, 4, 5, 6].map((each) => [each, 'before'] as const),
      [6, 'after'] as const,
    ]) {
      const label = `${hasPrevious ? 'a' : 'no'} former run, killed ${when} write ${count}`;
      const directory = join(await scratchDirectory(t), 'director');
      if (hasPrevious) await writeDirectory(directory, filesOf('first'), recordOf('first'));
      await runKilled(t, directory, count, when);
      await assertCommandsMatch(directory, label);

      const { keptFiles } = await writeDirectory(directory, filesOf('last'), file);

      assert.deepEqual(keptFiles, [], label);
      for (const [path, text] of Object.entries(filesOf('last')))
        assert.equal(await readFile(join(directory, path), 'utf8'), text, label);
      const names = (await readdir(directory, { recursive: true })).toSorted();
      const folders = ['cloud-foundry', 'cloud-foundry/ops', 'ops'];
      const all = [...folders, ...Object.keys(filesOf('last')), 'director.json'];
      assert.deepEqual(names, all.toSorted(), label);
      for (const folder of folders)
        assert.equal((await stat(join(directory, folder))).mode & 0o777, 0o700, label);
    }
});

test('an edit after a killed run is kept', async (t) => {
  const directory = join(await scratchDirectory(t), 'director');
  await runKilled(t, directory, 3, 'after');
  await writeFile(join(directory, 'vars.yml'), 'run: edited\n');

  const { keptFiles } = await writeDirectory(directory, filesOf('last'), file);

  assert.deepEqual(keptFiles, ['vars.yml']);
  assert.equal(await readFile(join(directory, 'vars.yml'), 'utf8'), 'run: edited\n');
});
