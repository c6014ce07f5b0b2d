import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { NfsMountSpec } from '../../src/volumes/driver/mount/mount-command.ts';
import { mounterSuite } from '../../src/volumes/driver/mount/testing/mounter-suite.ts';
import type { CertificationCases } from './certify.ts';
import { guestMounter, guestSubject, volumes } from './guest-mounter.ts';
import { Guest, noGuest, serverHost, shareUser } from './guest.ts';

const skip = noGuest();
let guest: Guest;
before(async () => {
  if (skip === false) guest = await Guest.boot();
});
after(() => guest?.stop());

const plain: NfsMountSpec = {
  kind: 'nfs',
  host: serverHost,
  path: '/plain',
  version: '4.2',
  readOnly: false,
  attributeCaching: false,
};
const ids = { uid: shareUser.uid, gid: shareUser.gid };
/** A directory that only shareUser can enter, on a server that maps root to nobody. */
const mapped: NfsMountSpec = { ...plain, path: '/private', ids };
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
const hasCode = (code: string) => (error: NodeJS.ErrnoException) => error.code === code;

for (const version of ['3', '4.0', '4.1', '4.2'] as const) {
  test(`NFS ${version} is mounted, written, read and unmounted`, { skip }, async () => {
    const path = await target(`v${version}`);
    await guestMounter(guest).mount({ ...plain, version }, path, inTime);
    assert.equal(await asApp(`echo written > v${version}; cat v${version}`, path), 'written\n');
    assert.equal((await stat(join(guest.directory, 'plain', `v${version}`))).uid, 2000);
    const [line = ''] = await linesOf(path);
    assert.match(line, /^\S+ \S+ nfs4? rw,nosuid,nodev,/u);
    assert.match(line, new RegExp(`,vers=${version},`, 'u'));
    await guestMounter(guest).unmount(path, inTime);
    assert.deepEqual(await linesOf(path), []);
  });
}

mounterSuite('NFS with mapped ids', () => guestSubject(guest, mapped, { ...mapped, path: '/missing' }), skip);

test(
  'mapped ids own the files on the server, and the container owns them in the mount',
  { skip },
  async () => {
    const path = await target('mapped');
    await guestMounter(guest).mount(mapped, path, inTime);
    const seen = await asApp('mkdir d && echo x > d/f && ln d/f d/g && stat -c %u:%g d d/f', path);
    assert.equal(seen, '2000:2000\n2000:2000\n');
    const { uid, gid } = await stat(join(guest.directory, 'private', 'd', 'f'));
    assert.deepEqual({ uid, gid }, ids);
    for (const line of await linesOf(path)) assert.match(line, / rw,nosuid,nodev,/u);
    // the id mapper dies: the mount is stale, and a new mount repairs it
    assert.equal(await guest.call('killAll', ['bindfs']), 1);
    assert.equal(await guestMounter(guest).probe(path, 30), 'stale');
    await guestMounter(guest).unmount(path, inTime);
    await guestMounter(guest).mount(mapped, path, inTime);
    assert.equal(await asApp('cat d/g', path), 'x\n');
    await guestMounter(guest).unmount(path, inTime);
    assert.deepEqual(await linesOf(path), []);
    assert.equal(await guest.call('killAll', ['bindfs']), 0);
  },
);

// the app has the share twice, and puts a link to the machine's /etc at the path of a directory that the id
// mapper of the other mount opens
test(
  'an app that replaces a directory of its share by a link reads no file of the machine',
  { skip },
  async () => {
    const [path, other] = [await target('swapped'), await target('swapping')];
    for (const each of [path, other]) await guestMounter(guest).mount(mapped, each, inTime);
    const swap = `mkdir swap && echo own > swap/shadow && cd swap && cat shadow
      mv ${other}/swap ${other}/moved && ln -s /etc ${other}/swap && ln -s moved ${other}/own && cat ${path}/own/shadow; cat shadow 2>&1 | head -c 300`;
    const seen = await asApp(swap, path);
    for (const each of [path, other]) await guestMounter(guest).unmount(each, inTime);
    // the kernel part of the id mapper may notice first that the directory has become something else
    assert.match(
      seen,
      /^own\nown\ncat: shadow: (?:Too many levels of symbolic links|Input\/output error)\n$/u,
    );
    assert.deepEqual(await linesOf(path), []);
  },
);

test('a share that cannot be mounted is refused with its reason', { skip }, async () => {
  const path = await target('refused');
  const reasons = [
    ['NO_SUCH_SHARE', { ...plain, path: '/missing' }],
    // not in the server's list of exports
    ['NO_SUCH_SHARE', { ...plain, version: '3', path: '/closed' }],
    // refused by the guest itself, where no server listens
    ['UNREACHABLE', { ...plain, host: '127.0.0.1' }],
    ['ACCESS_DENIED', { ...mapped, ids: { uid: 4001, gid: 4001 } }],
  ] as const;
  for (const [code, order] of reasons) {
    await assert.rejects(guestMounter(guest).mount(order, path, inTime), hasCode(code), code);
    // a part of a mount is listed, too, so that it is found after a crash
    assert.deepEqual(await guestMounter(guest).listMounts(volumes), 'ids' in order ? [path] : []);
    await guestMounter(guest).unmount(path, inTime);
    assert.deepEqual(await linesOf(path), [], code);
  }
});

test('a frozen server of a hard mount delays neither probe nor unmount', { skip }, async (t) => {
  const [path, other, killed] = [await target('frozen'), await target('frozen-too'), await target('killed')];
  await guestMounter(guest).mount(mapped, path, inTime);
  await guestMounter(guest).mount(plain, other, inTime);
  await guest.signalServer('ganesha.nfsd', 'SIGSTOP');
  t.after(() => guest.signalServer('ganesha.nfsd', 'SIGCONT'));
  for (const each of [path, other]) await guest.call('startWaiting', [each]);
  assert.equal(await guestMounter(guest).probe(path, 2), 'stale');
  assert.equal(await guestMounter(guest).probe(other, 2), 'stale');
  assert.equal(await guest.call('stillWaiting', [0]), 2);
  await guestMounter(guest).unmount(path, inTime);
  await guestMounter(guest).unmount(other, inTime);
  // the forced unmount ends processes that wait for the server, so that a container can be stopped
  assert.equal(await guest.call('stillWaiting', [60_000]), 0);
  await assert.rejects(guest.call('mount', [plain, other, 3000]), hasCode('TIMED_OUT'));
  await guestMounter(guest).unmount(other, inTime);
  assert.equal(await guest.call('mountInKilledProcess', [plain, killed]), 1, 'mount.nfs outlives its driver');
  await guestMounter(guest).unmount(killed, inTime);
  assert.equal(await guest.call('killAll', ['mount.nfs']), 0);
  await guest.signalServer('ganesha.nfsd', 'SIGCONT');
  assert.deepEqual(await linesOf(volumes), []);
  assert.equal(await guest.call('killAll', ['bindfs']), 0);
  await guestMounter(guest).mount(plain, other, inTime);
  await guestMounter(guest).unmount(other, inTime);
});

test("the certification cases of the drivers pass over the driver's HTTP", { skip }, async () => {
  const source = `nfs://${serverHost}/plain`;
  const cases: CertificationCases = {
    default: { source },
    experimental: { source, experimental: 'true' },
    mount: { source, mount: '/data' },
    'experimental and version 4': { source, experimental: 'true', version: '4' },
    'version 4.1': { source, version: '4.1' },
    'mount and cache': { source, mount: '/data', cache: 'true' },
    'read-only': { source, readonly: 'true' },
    'mapped ids': { source: `nfs://${serverHost}/private`, uid: String(ids.uid), gid: String(ids.gid) },
    'with an open file': { source },
  };
  const log: string = await guest.call('certify', ['nfsv3driver', cases], certify);
  assert.match(log, /driver-server\.started/u);
});
