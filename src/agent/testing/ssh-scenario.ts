import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chown, lstat, mkdir, readFile, readdir, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { isObject } from '../../platform/json.ts';
import { TestVm } from './test-vm.ts';

// Runs with its own accounts (own-accounts.sh), so useradd and userdel do not change the machine's.
const run = promisify(execFile);
const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDk0bWYzZm9ydGVzdHNvbmx5bm90YXJlYWxrZXkw operator';
const user = 'bosh_0123456789abcde';
const vm = await TestVm.create();
try {
  const client = await vm.start();
  const { sshHomes, log, temporary } = vm.directories;
  const passwd = (): Promise<string> => readFile('/etc/passwd', 'utf8');
  const before = await passwd();
  const setUp = (name: unknown, publicKey: unknown): Promise<unknown> =>
    client.value('ssh', 'setup', { user: name, public_key: publicKey });
  const cleanUp = (expression: unknown): Promise<unknown> =>
    client.value('ssh', 'cleanup', { user_regex: expression });

  // Names and keys in another form than the bosh CLI's are rejected, and nothing is changed.
  for (const name of ['root', 'vcap', 'bosh_', 'bosh_A', 'bosh_a/../x', '-o', 'bosh_a b', 'bosh_a\nroot', 7])
    await assert.rejects(setUp(name, key), /the user must be bosh_/, String(name));
  for (const given of ['', 'key', `command="x" ${key}`, `${key}\n${key}`, `ssh-rsa ${'A'.repeat(20_000)}`])
    await assert.rejects(setUp(user, given), /the public_key must be one/, given.slice(0, 80));
  await assert.rejects(client.value('ssh', 'reset', {}), /must be setup or cleanup, not 'reset'/);
  const pair = ['/etc/ssh/ssh_host_rsa_key.pub', '/etc/ssh/hidden'] as const;
  await rename(...pair);
  await assert.rejects(setUp(user, key), /this VM runs no sshd.*kubectl .*exec/);
  await rename(pair[1], pair[0]);
  assert.equal(await passwd(), before);

  // Upstream's client ends the key with a line feed.
  const hostKey = (await readFile(pair[0], 'utf8')).trim();
  assert.deepEqual(await setUp(user, `${key}\n`), {
    ...{ command: 'setup', status: 'success', ip: '127.0.0.1', host_public_key: hostKey },
  });
  const home = join(sshHomes, user);
  const account = await stat(home);
  const groups = (await run('id', ['-nG', user])).stdout.trim().split(' ');
  assert.deepEqual(groups.toSorted(), ['admin', user, 'bosh_sshers', 'bosh_sudoers', 'vcap']);
  assert.equal(account.mode & 0o7777, 0o700);
  const keys = join(home, '.ssh/authorized_keys');
  assert.equal(await readFile(keys, 'utf8'), `${key}\n`);
  assert.deepEqual([(await stat(keys)).uid, (await stat(keys)).mode & 0o7777], [account.uid, 0o600]);
  await assert.rejects(setUp(user, key), /useradd exited with 9: .*already exists/);

  // bundle_logs: only this account can read the archive, and it has no links of the job's user.
  await mkdir(join(log, 'web'));
  await writeFile(join(log, 'web/web.log'), 'served');
  await symlink('/etc/shadow', join(log, 'web/shadow.log'));
  const bundle = await client.value('bundle_logs', { owning_user: user, log_type: 'job', filters: null });
  assert.ok(isObject(bundle));
  const path = String(bundle['logs_tar_path']);
  const content = await readFile(path);
  const found = await stat(path);
  assert.equal(bundle['sha512'], `sha512:${createHash('sha512').update(content).digest('hex')}`);
  assert.deepEqual([found.uid, found.mode & 0o7777], [account.uid, 0o600]);
  const names = (await run('tar', ['-tzf', path])).stdout;
  assert.ok(names.includes('web/web.log') && !names.includes('shadow'), names);
  for (const owner of ['root', 'vcap', 'bosh_admin', 'bosh_none'])
    await assert.rejects(
      client.value('bundle_logs', { owning_user: owner, log_type: 'job', filters: [] }),
      /must be an account that ssh setup created/,
    );
  assert.deepEqual(await readdir(temporary), [basename(path)]);

  // remove_file removes only this file, and a second call succeeds.
  for (const other of [
    '/etc/passwd',
    `${path}/../x`,
    `${temporary}/bundled-logs-../../../etc/passwd`,
    temporary,
  ])
    await assert.rejects(client.value('remove_file', other), /removes only files that bundle_logs created/);
  for (let time = 0; time < 2; time += 1) assert.equal(await client.value('remove_file', path), path);
  assert.deepEqual(await readdir(temporary), []);

  // cleanup evaluates no expression of a client, and removes no account that it did not create.
  for (const expression of ['.*', '^root', '^bosh_(a+)+$', 'bosh_', '^bosh_.*', '^bosh_a|^root', '', 7])
    await assert.rejects(cleanUp(expression), /the user_regex must be \^bosh_/, String(expression));
  assert.ok((await passwd()).includes(user));
  const other = 'bosh_ff';
  await setUp(other, key);
  // Entries of the account's user are removed, and links are not followed.
  const victim = join(vm.directories.base, 'victim');
  await mkdir(victim);
  await writeFile(join(victim, 'file'), '');
  await symlink(victim, join(home, 'link'));
  await chown(victim, account.uid, account.gid);
  await client.value('bundle_logs', { owning_user: user, log_type: 'agent', filters: ['none'] });
  assert.deepEqual(await cleanUp(`^${user}`), { command: 'cleanup', status: 'success' });
  await assert.rejects(lstat(home), { code: 'ENOENT' });
  assert.deepEqual(await readdir(temporary), []);
  assert.deepEqual(await readdir(victim), ['file']);
  assert.ok((await passwd()).includes(other));
  await cleanUp('^bosh_');
  assert.equal(await passwd(), before);
  assert.ok(!vm.lines.join('\n').includes('AAAAC3'), 'a key is in the log');
  process.stdout.write('every step passed\n');
} finally {
  await vm.remove();
}
