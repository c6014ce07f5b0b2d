import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../testing/scratch.ts';
import { openRelease } from './open-release.ts';

/**
 * Creates a final release in the directory of argument 1, and kills itself before the rename with that
 * number.
 */
const program = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
const [, directory, at] = process.argv;
let renames = 0;
const count = () => {
  renames += 1;
  if (renames === Number(at)) process.kill(process.pid, 'SIGKILL');
};
const { renameSync } = fs;
const { rename } = fs.promises;
fs.renameSync = (...paths) => { count(); renameSync(...paths); };
fs.promises.rename = async (...paths) => { count(); await rename(...paths); };
syncBuiltinESMExports();
const { createRelease } = await import(${JSON.stringify(join(import.meta.dirname, 'create-release.ts'))});
const ports = {
  cacheDirectory: join(directory, 'cache'),
  readGit: () => Promise.resolve({ commitHash: 'non-git', changes: '' }),
  newId: () => 'id-' + process.pid,
  now: () => 0,
};
const made = await createRelease({ directory, final: true, version: '1', tarball: join(directory, 'r.tgz') }, ports);
console.log(JSON.stringify({ renames, digests: made.parts.map(({ digest }) => digest) }));
`;

interface Ended {
  readonly killed: boolean;
  readonly renames: number;
  readonly digests: readonly string[];
}

function run(directory: string, at: number): Ended {
  const args = ['--input-type=module', '--eval', program, directory, String(at)];
  const { signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (signal === 'SIGKILL') return { killed: true, renames: 0, digests: [] };
  assert.notEqual(stdout, '', stderr);
  return { killed: false, ...(JSON.parse(stdout) as Omit<Ended, 'killed'>) };
}

test('the same command completes a final release that was killed before any of its writes', async (t) => {
  const scratch = await scratchDirectory(t);
  const releaseDirectory = async (name: string): Promise<string> => {
    const directory = join(scratch, name);
    await mkdir(join(directory, 'config'), { recursive: true });
    const blobstore = { provider: 'local', options: { blobstore_path: 'final_blobs' } };
    await writeFile(join(directory, 'config/final.yml'), JSON.stringify({ name: 'r', blobstore }));
    await mkdir(join(directory, 'jobs/j'), { recursive: true });
    await writeFile(join(directory, 'jobs/j/spec'), 'name: j\ntemplates: {}\n');
    return directory;
  };
  const whole = run(await releaseDirectory('whole'), 0);
  assert.ok(whole.renames > 5);
  for (let at = 1; at <= whole.renames; at += 1) {
    const directory = await releaseDirectory(`killed-${at}`);
    assert.ok(run(directory, at).killed);
    assert.deepEqual(run(directory, 0).digests, whole.digests, `killed before rename ${at}`);
    await openRelease({ archivePath: join(directory, 'r.tgz'), directory: join(directory, 'out'), within: directory });
    const found = await readdir(directory, { recursive: true });
    assert.deepEqual(found.filter((path) => path.endsWith('.new')), [], `drafts after a kill before rename ${at}`);
    const blobs = await readdir(join(directory, 'final_blobs'));
    assert.equal(blobs.length, 1, 'no blob that no index has');
  }
});
