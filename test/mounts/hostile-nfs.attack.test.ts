import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { NfsMountSpec } from '../../src/volumes/driver/mount/mount-command.ts';
import { guestMounter, volumes } from './guest-mounter.ts';
import { Guest, noGuest, serverHost, shareUser } from './guest.ts';

const skip = noGuest();
let guest: Guest;
before(async () => {
  if (skip !== false) return;
  guest = await Guest.boot();
  await mkdir(join(guest.directory, 'plain', 'folder'));
  // links that an app makes in its own share
  await symlink('/private', join(guest.directory, 'plain', 'link'));
  await symlink('folder', join(guest.directory, 'plain', 'own-link'));
});
after(() => guest?.stop());

const others = join(import.meta.dirname, 'other-servers.ts');
const inTime = AbortSignal.timeout(600_000);
const anyVersion: NfsMountSpec = {
  kind: 'nfs',
  host: serverHost,
  path: '/plain',
  readOnly: false,
  attributeCaching: false,
};
const share: NfsMountSpec = { ...anyVersion, version: '4.2' };
const ids = { uid: shareUser.uid, gid: shareUser.gid };
/** A server that forwards requests to the real one. */
const relay: NfsMountSpec = { ...share, host: '127.0.0.2' };

async function target(name: string): Promise<string> {
  const path = join(volumes, name);
  await guest.call('makeDirectory', [path]);
  return path;
}

const mountsAt = (path: string): Promise<string[]> => guest.call('mountedFrom', [path], others);

/** Mounts and unmounts. Returns the sources of the mount. */
async function mountedFrom(spec: NfsMountSpec): Promise<readonly string[]> {
  const path = await target('mounted');
  await guestMounter(guest).mount(spec, path, inTime);
  const from = await mountsAt(path);
  await guestMounter(guest).unmount(path, inTime);
  assert.deepEqual(await mountsAt(path), []);
  return from;
}

async function refused(spec: NfsMountSpec, code: string, message: RegExp): Promise<void> {
  const path = await target('refused');
  await assert.rejects(guestMounter(guest).mount(spec, path, inTime), (error: NodeJS.ErrnoException) => {
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  });
  await guestMounter(guest).unmount(path, inTime);
}

test('a mount does not follow a link in a share of NFS 4', { skip }, async () => {
  const orders: NfsMountSpec[] = [
    { ...share, path: '/plain/link' },
    { ...share, path: '/plain/link/.', ids },
    { ...share, path: '/plain/own-link', version: '4.0' },
    { ...anyVersion, path: '/plain/link' },
  ];
  for (const spec of orders)
    await refused(spec, 'LINK_IN_SHARE', /192\.168\.77\.1:\/plain\/.*symbolic link/u);
  assert.deepEqual(await guest.call('mountLines', [volumes]), []);
});

test('a mount does not follow a link in a share of NFS 3, although mountd does', { skip }, async () => {
  await guest.call('startKernelServer', [], others);
  const local: NfsMountSpec = { ...share, host: '127.0.0.1', path: '/mnt/server/plain', version: '3' };
  const link = { ...local, path: '/mnt/server/plain/link' };
  await refused(link, 'LINK_IN_SHARE', /symbolic link/u);
  await refused({ ...link, ids }, 'LINK_IN_SHARE', /symbolic link/u);
  for (const path of [local.path, `${local.path}/folder`])
    assert.deepEqual(await mountedFrom({ ...local, path }), [`127.0.0.1:${path} 127.0.0.1`]);
  await refused({ ...local, path: '/mnt/server' }, 'NO_SUCH_SHARE', /exports no folder/u);
});

test('shares are mounted by name and address, whole and in part, by IPv4 and IPv6', { skip }, async () => {
  await guest.call('nameHost', [`${serverHost} share.example`], others);
  const orders = [
    share,
    { ...share, host: 'share.example' },
    { ...share, path: '/plain/folder' },
    { ...share, host: 'share.example', path: '/plain/./folder//' },
  ];
  // all together: mounts that shared a superblock would have the names of the first
  const paths = await Promise.all(orders.map((_, index) => target(`together-${index}`)));
  for (const [index, spec] of orders.entries())
    await guestMounter(guest).mount(spec, paths[index] ?? '', inTime);
  const whole = `${serverHost}:/plain ${serverHost}`;
  const part = `${serverHost}:/plain/folder ${serverHost}`;
  assert.deepEqual(await Promise.all(paths.map(mountsAt)), [[whole], [whole], [part], [part]]);
  for (const path of paths) await guestMounter(guest).unmount(path, inTime);
  assert.deepEqual(await mountedFrom({ ...share, path: '/' }), [`${serverHost}:/ ${serverHost}`]);
  await guest.call('startRelay', ['::1', serverHost], others);
  const host = '0:0:0:0:0:0:0:1';
  assert.deepEqual(await mountedFrom({ ...share, host }), [`[${host}]:/plain ::1`]);
});

test(
  'a server that redirects to another one gets no mount from it, and passes none on',
  { skip },
  async () => {
    await guest.call('startRelay', [relay.host, serverHost], others);
    const first = await target('first');
    const orders: (readonly [NfsMountSpec, NfsMountSpec])[] = [
      [relay, share],
      [
        { ...share, version: '4.1' },
        { ...relay, version: '4.1' },
      ],
    ];
    for (const [mounted, requested] of orders) {
      await guestMounter(guest).mount(mounted, first, inTime);
      const both = new RegExp(`${requested.host}.*${mounted.host}`, 'u');
      await refused(requested, 'OTHER_SERVER', both);
      await refused({ ...requested, ids, path: '/private' }, 'OTHER_SERVER', both);
      // version 4.0 has no sessions
      const old = await mountedFrom({ ...requested, version: '4.0' });
      assert.deepEqual(old, [`${requested.host}:/plain ${requested.host}`]);
      assert.deepEqual(await mountsAt(first), [`${mounted.host}:/plain ${mounted.host}`]);
      await guestMounter(guest).unmount(first, inTime);
    }
  },
);

test('addresses that the operator lists as one server may share a session', { skip }, async () => {
  const [first, second] = [await target('named-first'), await target('named-second')];
  await guestMounter(guest).mount(relay, first, inTime);
  const unrelated = ['127.0.0.9', '10.1.1.1'];
  const sameServers = [unrelated, [relay.host, serverHost]];
  await guest.call('mountWith', [{ sameServers }, share, second], others);
  assert.deepEqual(await mountsAt(second), [`${serverHost}:/plain ${relay.host}`]);
  for (const path of [first, second]) await guestMounter(guest).unmount(path, inTime);
});

test('a name that is never resolved delays no other mount', { skip }, async () => {
  const path = await target('beside-names');
  await guest.call('nameHost', [`${serverHost} other.example`], others);
  assert.equal(await guest.call('mountBesideNames', [{ ...share, host: 'other.example' }, path], others), 0);
  await guestMounter(guest).unmount(path, inTime);
});

test('a server that accepts and never answers delays no check of another one', { skip }, async () => {
  await guest.call('startRelay', ['127.0.0.3', serverHost], others);
  assert.equal(await guest.call('watchBesideSilent', ['127.0.0.3', serverHost], others), 0);
});

// a client that has the root of a server also gets its exports, as mounts that the kernel makes
test(
  'a submount that the kernel creates has the restrictions of its mount and is unmounted with it',
  { skip },
  async () => {
    await symlink('/etc', join(guest.directory, 'plain', 'to-machine'));
    const path = await target('submounts');
    await guestMounter(guest).mount({ ...share, path: '/', ids }, path, inTime);
    const seen = await guest.call<string>('asApp', [
      'ls plain; cat plain/to-machine/passwd 2>&1 || true',
      path,
    ]);
    assert.match(seen, /^to-machine$/mu);
    const below = await guest.call<string[]>('mountLines', [`${path}_mapfs/plain`]);
    assert.match(below.join('|'), /^[^|]* nfs4 rw,nosuid,nodev,(?:\w+,)*nosymfollow,[^|]*$/u);
    await guestMounter(guest).unmount(path, inTime);
    assert.deepEqual(await guest.call('mountLines', [path]), []);
  },
);

test('a deep directory behind a link leaves the mount table readable', { skip }, async (t) => {
  const path = await target('deep');
  // the directories are deeper than the end of the suite can remove
  t.after(() => execFileSync('find', [join(guest.directory, 'plain'), '-delete']));
  await guestMounter(guest).mount(share, path, inTime);
  await guest.call('makeDeepLink', [path], others);
  await guestMounter(guest).unmount(path, inTime);
  await refused({ ...share, path: '/plain/deep/deeper' }, 'LINK_IN_SHARE', /symbolic link/u);
  assert.deepEqual(await guest.call('mountLines', [volumes]), []);
});
