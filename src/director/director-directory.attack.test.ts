import assert from 'node:assert/strict';
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../deploy/testing/scratch.ts';
import { writeDirectory } from './director-directory.ts';

test("no link in a director's directory redirects a write of init", async (t) => {
  const scratch = await scratchDirectory(t);
  const [directory, elsewhere] = [join(scratch, 'director'), join(scratch, 'elsewhere')];
  for (const path of [directory, elsewhere]) await mkdir(path, { mode: 0o700 });
  await symlink(elsewhere, join(directory, 'ops'));
  const file = {
    cluster: { server: 'https://192.0.2.1:6443', kubeconfig: '/k' },
    ...{ way: 'tunnel' as const, namespaces: ['bosh'], networks: [], address: '192.0.2.2' },
  };
  await assert.rejects(writeDirectory(directory, { 'ops/cpi.yml': '[]\n' }, file), {
    code: 'FILE_NOT_TRUSTED',
  });
  assert.deepEqual([await readdir(elsewhere), await readdir(directory)], [[], ['ops']]);
});
