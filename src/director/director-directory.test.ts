import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  directorFilePath,
  readDirectorFile,
  writeDirectorFile,
  writeDirectory,
  type DirectorFile,
} from './director-directory.ts';

const file: DirectorFile = {
  cluster: { server: 'https://192.0.2.1:6443', uid: 'u-1', kubeconfig: '/home/op/.kube/config' },
  way: 'tunnel',
  namespaces: ['bosh'],
  networks: ['10.244.0.0/16'],
  address: '10.244.0.6',
  cloudFoundry: {
    ...({ layout: 'smallest', variables: { system_domain: 'cf.example.com' } } as const),
    ...{ hasOneCell: true, hasVolumeServices: false },
  },
  written: { 'vars.yml': 'ab' },
};

async function makeDirectory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'director-'));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

test('a written description is read back, and an empty directory has none', async (t) => {
  const directory = await makeDirectory(t);
  assert.equal(await readDirectorFile(directory), undefined);
  await writeDirectorFile(directory, file);
  assert.deepEqual(await readDirectorFile(directory), file);
});

test('a file of other options is not taken for an edited one when a later run writes it again', async (t) => {
  const directory = await makeDirectory(t);
  await writeDirectory(directory, { 'a.yml': '1', 'b.yml': '1' }, file);
  await writeDirectory(directory, { 'a.yml': '1' }, file);
  const { written, keptFiles } = await writeDirectory(directory, { 'a.yml': '1', 'b.yml': '2' }, file);
  assert.deepEqual([written, keptFiles], [['a.yml', 'b.yml'], []]);
});

test('a file that init did not write is refused by name, and so is a link', async (t) => {
  const directory = await makeDirectory(t);
  for (const wrong of [
    '{',
    '{}',
    JSON.stringify({ ...file, way: 'ssh' }),
    JSON.stringify({ ...file, namespaces: [] }),
    ...['server', 'kubeconfig', 'uid', 'ca_sha256'].map((key) =>
      JSON.stringify({ ...file, cluster: { ...file.cluster, [key]: '' } }),
    ),
  ]) {
    await writeFile(directorFilePath(directory), wrong, { mode: 0o600 });
    await assert.rejects(readDirectorFile(directory), {
      code: 'DIRECTORY_INVALID',
      message: /director\.json/,
    });
  }
  const elsewhere = await makeDirectory(t);
  await symlink(directorFilePath(directory), directorFilePath(elsewhere));
  await assert.rejects(readDirectorFile(elsewhere), { code: 'FILE_NOT_TRUSTED' });
});
