import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { errorMessage } from '../file/error-code.ts';

const run = promisify(execFile);
const namespace = ['--user', '--map-root-user', '--mount', '--propagation', 'private'];

test('a disk has a link to the jobs of the VM in place of its store directory', async (t) => {
  try {
    await run('unshare', [...namespace, 'mount', '-t', 'tmpfs', 'none', '/mnt']);
  } catch (error) {
    t.skip(`needs a user and mount namespace: ${errorMessage(error)}`);
    return;
  }
  const scenario = join(import.meta.dirname, '..', 'testing', 'hostile-disk-scenario.ts');
  const { stdout } = await run('unshare', [...namespace, process.execPath, scenario]);
  assert.equal(stdout, 'every step passed\n');
});
