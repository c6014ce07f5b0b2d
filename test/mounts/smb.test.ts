import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { SmbMountSpec } from '../../src/volumes/driver/mount/mount-command.ts';
import { mounterSuite } from '../../src/volumes/driver/mount/testing/mounter-suite.ts';
import type { CertificationCases } from './certify.ts';
import { guestMounter, guestSubject, volumes } from './guest-mounter.ts';
import { Guest, noGuest, serverHost, shareUser } from './guest.ts';

const skip = noGuest();
const password = `a,b"c d='\\e,uid=0ü€`;
let guest: Guest;
before(async () => {
  if (skip === false) guest = await Guest.boot({ password });
});
after(() => guest?.stop());

const share: SmbMountSpec = {
  kind: 'smb',
  share: `//${serverHost}/share`,
  username: shareUser.name,
  password,
  readOnly: false,
  flags: [],
};
const certify = join(import.meta.dirname, 'certify.ts');
const inTime = AbortSignal.timeout(600_000);

async function target(name: string): Promise<string> {
  const path = join(volumes, name);
  await guest.call('makeDirectory', [path]);
  return path;
}

const asApp = (script: string, directory: string): Promise<string> =>
  guest.call('asApp', [script, directory]);
const linesOf = (path: string): Promise<string[]> => guest.call('mountLines', [path]);

for (const version of ['1.0', '2.0', '2.1', '3.0', '3.1.1'] as const) {
  test(`SMB ${version} with an odd password is mounted, written, read and unmounted`, { skip }, async () => {
    const path = await target(`v${version}`);
    await guestMounter(guest).mount(
      { ...share, version, fileMode: '0640', flags: ['mfsymlinks'] },
      path,
      inTime,
    );
    const seen = await guest.call('asApp', [
      `echo written > v${version}ß; cat v${version}ß; stat -c %u:%g .`,
      path,
    ]);
    assert.equal(seen, 'written\n2000:2000\n');
    assert.equal((await stat(join(guest.directory, 'share', `v${version}ß`))).uid, shareUser.uid);
    const [line = ''] = await linesOf(path);
    assert.match(line, new RegExp(`^\\S+ \\S+ cifs rw,nosuid,nodev,.*vers=${version},`, 'u'));
    assert.doesNotMatch(line, /uid=0/u);
    await guestMounter(guest).unmount(path, inTime);
    assert.deepEqual(await linesOf(path), []);
  });
}

mounterSuite('SMB', () => guestSubject(guest, share, { ...share, share: `//${serverHost}/missing` }), skip);

test(
  'a share that cannot be mounted is refused with its reason, without the password',
  { skip },
  async () => {
    const path = await target('refused');
    const reasons = [
      ['BAD_CREDENTIALS', { ...share, password: 'wrong-password' }],
      ['BAD_CREDENTIALS', { ...share, username: 'stranger' }],
      ['NO_SUCH_SHARE', { ...share, share: `//${serverHost}/missing` }],
      ['UNREACHABLE', { ...share, share: '//127.0.0.1/share' }],
      ['INVALID_OPTION', { ...share, security: 'sesame' }],
    ] as const;
    for (const [code, order] of reasons) {
      await assert.rejects(guestMounter(guest).mount(order, path, inTime), (error: NodeJS.ErrnoException) => {
        assert.equal(error.code, code, error.message);
        assert.equal(error.message.includes('`domain`'), code === 'BAD_CREDENTIALS', error.message);
        return !error.message.includes(order.password);
      });
      assert.deepEqual(await linesOf(path), []);
    }
  },
);

test('SQLite works in a share with local locks', { skip }, async () => {
  const path = await target('sqlite');
  const statements = `const { DatabaseSync } = require('node:sqlite');
    const database = new DatabaseSync('data.db'); database.exec('create table if not exists t (a); insert into t values (1)');
    console.log(database.prepare('select count(*) as n from t').get().n);`;
  const script = `${process.execPath} --no-warnings -e "${statements}"`;
  await guestMounter(guest).mount({ ...share, flags: [] }, path, inTime);
  await assert.rejects(asApp(script, path), /database is locked/u);
  await guestMounter(guest).unmount(path, inTime);
  await guestMounter(guest).mount({ ...share, flags: ['nobrl'] }, path, inTime);
  assert.equal(await asApp(script, path), '1\n');
  await guestMounter(guest).unmount(path, inTime);
});

test('a frozen server delays neither probe nor unmount', { skip }, async (t) => {
  const path = await target('frozen');
  await guestMounter(guest).mount(share, path, inTime);
  await guest.signalServer('smbd', 'SIGSTOP');
  t.after(() => guest.signalServer('smbd', 'SIGCONT'));
  assert.equal(await guestMounter(guest).probe(path, 2), 'stale');
  await guestMounter(guest).unmount(path, inTime);
  assert.deepEqual(await linesOf(path), []);
});

test("the certification cases of the drivers pass over the driver's HTTP", { skip }, async () => {
  const options = { source: share.share, username: share.username, password };
  const versions = ['1.0', '2.0', '2.1', '3.0', '3.1.1'].map((version) => [
    `version ${version}`,
    { ...options, version },
  ]);
  const cases: CertificationCases = {
    default: options,
    'no domain': { ...options, domain: '' },
    'read-only by readonly': { ...options, readonly: true },
    'read-only by ro': { ...options, ro: 'true' },
    mount: { ...options, mount: '/data' },
    mfsymlinks: { ...options, mfsymlinks: 'true' },
    ...Object.fromEntries(versions),
    'with an open file': options,
  };
  const log: string = await guest.call('certify', ['smbdriver', cases], certify);
  assert.match(log, /driver-server\.started/u);
  assert.match(log, /REDACTED/u);
  assert.ok(!log.includes(password) && !log.includes(JSON.stringify(password).slice(1, -1)));
});
