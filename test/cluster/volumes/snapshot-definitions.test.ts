import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { programCache } from '../programs/programs.ts';
import { fetchSnapshotDefinitions, readSnapshotDefinitions } from './snapshot-definitions.ts';

const module = join(programCache(), 'module');
const skip = existsSync(module) ? false : 'the module of the programs was not made here';

test(
  'clusters that come up at once get the same definitions, and nothing else is left',
  { skip },
  async (t) => {
    const cache = await mkdtemp(join(tmpdir(), 'definitions-'));
    t.after(() => rm(cache, { recursive: true }));
    await symlink(module, join(cache, 'module'));
    const directories = await Promise.all(Array.from({ length: 3 }, () => fetchSnapshotDefinitions(cache)));
    assert.equal(new Set(directories).size, 1);
    const found = await readSnapshotDefinitions(directories[0] ?? '');
    assert.deepEqual(new Set(found.map(({ kind }) => kind)), new Set(['CustomResourceDefinition']));
    assert.ok(found.length >= 3);
    assert.deepEqual((await readdir(cache)).toSorted(), ['lock', 'module', 'snapshot-definitions']);
  },
);
