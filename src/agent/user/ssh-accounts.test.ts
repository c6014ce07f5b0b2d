import assert from 'node:assert/strict';
import { chown, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { hostileUser, hostileUserIsMissing } from '../testing/hostile-user.ts';
import { TestVm } from '../testing/test-vm.ts';
import { writeAuthorizedKeys } from './ssh-accounts.ts';
import { parseIdentities } from './identities.ts';

const { uid, gid } = hostileUser;
const options = { skip: hostileUserIsMissing };
const keys = ['ssh-ed25519 AAAA one\n', 'ssh-rsa BBBB two'];

async function home(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'home-'));
  t.after(() => rm(directory, { recursive: true }));
  await chown(directory, uid, gid);
  return directory;
}

const identities = (homeOfVcap: string, userMap = '0 0 4294967295') =>
  parseIdentities({
    passwd: `root:x:0:0::/root:/bin/sh\nvcap:x:${uid}:${gid}::${homeOfVcap}:/bin/sh\n`,
    group: `vcap:x:${gid}:\n`,
    ...{ userMap, groupMap: userMap, user: 0, userGroup: 0 },
  });

test('writes the keys of vcap where sshd reads them, and replaces the previous ones', options, async (t) => {
  const directory = await home(t);
  for (const given of [['ssh-rsa OLD'], keys]) {
    const problem = await writeAuthorizedKeys(given, identities(directory));
    assert.equal(problem, undefined);
  }
  const path = join(directory, '.ssh/authorized_keys');
  assert.equal(await readFile(path, 'utf8'), 'ssh-ed25519 AAAA one\nssh-rsa BBBB two\n');
  const [file, parent] = [await stat(path), await stat(join(directory, '.ssh'))];
  assert.deepEqual([file.uid, file.gid, file.mode & 0o7777], [uid, gid, 0o600]);
  assert.deepEqual([parent.uid, parent.gid, parent.mode & 0o7777], [uid, gid, 0o700]);
});

test('each start of an agent writes the keys of its settings, or logs why it cannot', options, async (t) => {
  const directory = await home(t);
  const bosh = { authorized_keys: keys };
  const vm = await TestVm.create(identities(directory), bosh);
  t.after(() => vm.remove());
  await vm.start();
  assert.match(await readFile(join(directory, '.ssh/authorized_keys'), 'utf8'), /^ssh-ed25519 AAAA one$/mu);

  const homeless = await TestVm.create(identities('/nowhere/vcap'), bosh);
  t.after(() => homeless.remove());
  await homeless.start();
  assert.match(homeless.lines.join('\n'), /no SSH login by env\.bosh\.authorized_keys: \/nowhere\/vcap/u);
});

test('leaves the existing keys if the settings have none', options, async (t) => {
  const directory = await home(t);
  assert.equal(await writeAuthorizedKeys([], identities(directory)), undefined);
  await assert.rejects(stat(join(directory, '.ssh')), { code: 'ENOENT' });
});

test('names the reason on a VM without vcap, without its home, or with a single user id', async () => {
  const none = parseIdentities({
    passwd: 'root:x:0:0::/root:/bin/sh\n',
    ...{ group: '', userMap: '0 0 10', groupMap: '0 0 10', user: 0, userGroup: 0 },
  });
  assert.match(`${await writeAuthorizedKeys(keys, none)}`, /no user vcap/);
  assert.match(`${await writeAuthorizedKeys(keys, identities('/nowhere', '0 0 1'))}`, /cannot own files/);
});

test('names a missing home directory', options, async () => {
  assert.match(`${await writeAuthorizedKeys(keys, identities('/nowhere/vcap'))}`, /\/nowhere\/vcap.*ENOENT/);
});

test("a job's user redirects the write with a link: the target does not change", options, async (t) => {
  const victim = await mkdtemp(join(tmpdir(), 'victim-'));
  t.after(() => rm(victim, { recursive: true }));
  await writeFile(join(victim, 'authorized_keys'), 'root’s own');

  const byDirectory = await home(t);
  await symlink(victim, join(byDirectory, '.ssh'));
  assert.match(`${await writeAuthorizedKeys(keys, identities(byDirectory))}`, /a link or something else/);

  const byFile = await home(t);
  await mkdir(join(byFile, '.ssh'));
  await symlink(join(victim, 'authorized_keys'), join(byFile, '.ssh/authorized_keys'));
  assert.equal(await writeAuthorizedKeys(keys, identities(byFile)), undefined);

  assert.equal(await readFile(join(victim, 'authorized_keys'), 'utf8'), 'root’s own');
  assert.equal((await stat(victim)).uid, 0);
});
