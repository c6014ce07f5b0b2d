import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { errorMessage } from '../file/error-code.ts';

const run = promisify(execFile);
const namespaces = ['--mount', '--propagation', 'private'];
const testing = join(import.meta.dirname, '..', 'testing');

test('ssh, bundle_logs and remove_file touch only accounts and files of bosh ssh', async (t) => {
  if (process.geteuid?.() !== 0) return t.skip('needs root: it makes accounts, in a mount namespace');
  const lacking = ['useradd', 'userdel', 'ssh-keygen'].filter((name) => spawnSync(name).error !== undefined);
  if (lacking.length > 0) return t.skip(`needs ${lacking.join(', ')} (Debian: passwd, openssh-client)`);
  try {
    await run('unshare', [...namespaces, 'mount', '-t', 'tmpfs', 'none', '/mnt']);
  } catch (error) {
    return t.skip(`needs a mount namespace: ${errorMessage(error)}`);
  }
  const args = ['sh', join(testing, 'own-accounts.sh'), process.execPath, join(testing, 'ssh-scenario.ts')];
  const { stdout } = await run('unshare', [...namespaces, ...args]);
  assert.equal(stdout, 'every step passed\n');
});
