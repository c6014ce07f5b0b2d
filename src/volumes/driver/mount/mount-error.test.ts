import assert from 'node:assert/strict';
import { test } from 'node:test';
import { helperFailure, type MountErrorCode, mountFailure } from './mount-error.ts';

const manual =
  '\nRefer to the mount.cifs(8) manual page (e.g. man mount.cifs) and kernel log messages (dmesg)\n';

/** Messages of Debian 12's programs, with the expected code. */
const messages: readonly (readonly [string, MountErrorCode])[] = [
  ['mount.nfs: access denied by server while mounting h:/x', 'ACCESS_DENIED'],
  ['mount.nfs: mounting h:/x failed, reason given by server: Permission denied', 'ACCESS_DENIED'],
  ['mount.nfs: mounting h:/x failed, reason given by server: No such file or directory', 'NO_SUCH_SHARE'],
  ['mount.nfs: No route to host', 'UNREACHABLE'],
  ['mount.nfs: Connection refused', 'UNREACHABLE'],
  ['mount.nfs: Connection timed out', 'UNREACHABLE'],
  ['mount.nfs: Network is unreachable', 'UNREACHABLE'],
  ['mount.nfs: Resource temporarily unavailable', 'UNREACHABLE'],
  ['mount.nfs: Failed to resolve server h: Name or service not known', 'UNREACHABLE'],
  ['mount.nfs: Protocol not supported', 'NOT_SUPPORTED'],
  ['mount.nfs: requested NFS version or transport protocol is not supported', 'NOT_SUPPORTED'],
  ['mount.nfs: rpc.statd is not running but is required for remote locking.', 'NOT_SUPPORTED'],
  ['mount.nfs: No such device', 'NOT_SUPPORTED'],
  ['mount.nfs: an incorrect mount option was specified', 'INVALID_OPTION'],
  ['mount.nfs: /mnt/a is busy or already mounted', 'BUSY'],
  ["mount: /mnt/b: unknown filesystem type 'nfs'.", 'NOT_SUPPORTED'],
  [
    'mount: /mnt/b: bad option; for several filesystems (e.g. nfs, cifs) you might need a /sbin/mount.<type> helper program.',
    'NOT_SUPPORTED',
  ],
  [`mount error(13): Permission denied${manual}`, 'BAD_CREDENTIALS'],
  [`mount error(127): Key has expired${manual}`, 'BAD_CREDENTIALS'],
  [`mount error(2): No such file or directory${manual}`, 'NO_SUCH_SHARE'],
  [`mount error(22): Invalid argument${manual}`, 'INVALID_OPTION'],
  [`mount error(95): Operation not supported${manual}`, 'NOT_SUPPORTED'],
  [`mount error(112): Host is down${manual}`, 'NOT_SUPPORTED'],
  [`mount error(101): Network is unreachable${manual}`, 'UNREACHABLE'],
  ['mount error(113): could not connect to hUnable to find suitable address.', 'UNREACHABLE'],
  ['mount error: could not resolve address for h: Unknown error', 'UNREACHABLE'],
  ['something that no table knows', 'FAILED'],
  ['', 'FAILED'],
];

for (const [stderr, code] of messages)
  test(`${code}: ${stderr.split('\n')[0] ?? ''}`, () => {
    const error = mountFailure({ share: 'h:/x', stderr, wasKilled: false, secrets: [] });
    assert.equal(error.code, code);
    assert.match(error.message, /^h:\/x: [A-Z]/u);
    assert.ok(
      error.message.includes(stderr.trim().replaceAll(/\s+/gu, ' ')),
      'what the program said is quoted',
    );
  });

test('a user of SMB whom the server refuses sees the domain option if the binding has no domain', () => {
  const failure = { share: '//h/x', wasKilled: false, secrets: [] };
  const denied = { ...failure, stderr: `mount error(13): Permission denied${manual}` };
  assert.match(
    mountFailure({ ...denied, lacksDomain: true }).message,
    /name that domain in the option `domain`/u,
  );
  assert.doesNotMatch(mountFailure({ ...denied, lacksDomain: false }).message, /`domain`/u);
  const missing = {
    ...failure,
    stderr: `mount error(2): No such file or directory${manual}`,
    lacksDomain: true,
  };
  assert.doesNotMatch(mountFailure(missing).message, /`domain`/u);
});

test('a mount that was killed at its deadline is reported as timed out', () => {
  const error = mountFailure({ share: 'h:/x', stderr: '', wasKilled: true, secrets: [] });
  assert.equal(error.code, 'TIMED_OUT');
});

test('a helper without access to the directory is distinguished from one that does not start', () => {
  const failure = { share: 'h:/x', wasKilled: false, secrets: [] };
  const closed = helperFailure({ ...failure, stderr: 'Could not open source directory\n' });
  assert.equal(closed.code, 'ACCESS_DENIED');
  assert.match(closed.message, /uid and gid/u);
  const broken = helperFailure({ ...failure, stderr: 'fuse: device not found, try modprobe fuse first' });
  assert.equal(broken.code, 'HELPER_FAILED');
});
