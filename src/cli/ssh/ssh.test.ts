import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const source = join(import.meta.dirname, '..', '..');
const namespaces = ['--mount', '--net', '--propagation', 'private'];

test('ssh, scp and logs work with our agent and an sshd, and the account is removed even after a killed session', async (t) => {
  if (process.geteuid?.() !== 0) return t.skip('needs root: it makes accounts, in namespaces');
  // sshd starts only by its absolute path.
  const directories = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  const sshd = directories.map((directory) => join(directory, 'sshd')).find((path) => existsSync(path));
  const lacking = ['ssh', 'scp', 'ip'].filter((name) => spawnSync(name, ['-V']).error !== undefined);
  if (sshd === undefined) lacking.push('sshd');
  if (sshd === undefined || lacking.length > 0)
    return t.skip(`needs ${lacking.join(', ')} (Debian: openssh-client, openssh-server, iproute2)`);
  const accounts = join(source, 'agent/testing/own-accounts.sh');
  const scenario = [process.execPath, join(source, 'cli/testing/ssh-scenario.ts'), sshd];
  const script = 'ip link set lo up; exec "$@"';
  const { stdout } = await run('unshare', [
    ...namespaces,
    'sh',
    accounts,
    'sh',
    '-c',
    script,
    'sh',
    ...scenario,
  ]);
  assert.equal(stdout, 'every step passed\n');
});
