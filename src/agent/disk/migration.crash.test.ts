import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { errorMessage } from '../file/error-code.ts';

const run = promisify(execFile);
const namespace = ['--user', '--map-root-user', '--mount', '--propagation', 'private'];

test('a kill at any step of migrate_disk leaves the recorded disk complete on the store, and the next migration continues', async (t) => {
  try {
    await run('unshare', [...namespace, 'mount', '-t', 'tmpfs', 'none', '/mnt']);
  } catch (error) {
    t.skip(`needs a user and mount namespace: ${errorMessage(error)}`);
    return;
  }
  const scenario = join(import.meta.dirname, '../testing/killed-migration-scenario.ts');
  const { stdout } = await run('unshare', [...namespace, process.execPath, scenario]);
  assert.equal(stdout, 'every step passed\n');
});
