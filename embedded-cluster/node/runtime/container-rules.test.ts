import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundingSet } from './capabilities.ts';
import { formatCommandFile } from './command-file.ts';
import { fstabEntries } from './container-fstab.ts';
import type { ContainerMount } from './container-runtime.ts';
import { findMountMismatch } from './container-setup.ts';
import { parseMountInfo } from '../../../src/platform/mountinfo.ts';
import { formatIdentityMap, isMapped, parseIdMap } from './user-namespace.ts';

const none = { privileged: false, ownUserNamespace: true, add: [], drop: [] };

const mountAt = (target: string): ContainerMount => ({
  ...{ source: '/v', target, kind: 'directory', readOnly: false, propagation: 'None' },
});

test('the capabilities are the default fourteen, plus add, minus drop', () => {
  assert.equal(boundingSet(none)?.length, 14);
  assert.deepEqual(boundingSet({ ...none, add: ['SYS_ADMIN', 'CAP_CHOWN'], drop: ['ALL'] }), [
    'chown',
    'sys_admin',
  ]);
  assert.equal(boundingSet({ ...none, drop: ['MKNOD'] })?.includes('mknod'), false);
  assert.equal(boundingSet({ ...none, add: ['ALL'], drop: ['SYS_ADMIN'] })?.includes('sys_admin'), false);
  assert.throws(() => boundingSet({ ...none, add: ['FLY'] }), /FLY/);
});

test("a privileged container has all capabilities in its own user namespace, and none over the node in the node's namespace", () => {
  assert.equal(boundingSet({ ...none, privileged: true }), undefined);
  const shared = boundingSet({ ...none, privileged: true, ownUserNamespace: false });
  assert.ok(shared);
  assert.ok(shared.includes('sys_admin'));
  for (const name of ['mknod', 'sys_module', 'sys_rawio', 'sys_time', 'net_admin']) {
    assert.equal(shared.includes(name), false, name);
  }
});

test('mounts are made from the outer path to the inner', () => {
  const batches = fstabEntries([mountAt('/a/b/c'), mountAt('/a'), mountAt('/d'), mountAt('/a/b')]);
  assert.deepEqual(
    batches.map((batch) => batch.map((mount) => mount.target)),
    [['/a', '/d'], ['/a/b'], ['/a/b/c']],
  );
});

test('volumes cover neither the paths that protect the machine nor each other', () => {
  for (const target of [
    '/',
    '/proc',
    '/proc/sys',
    '/sys',
    '/usr/lib',
    '/a/../proc',
    'relative',
    '/a\nb',
    '/a/',
  ]) {
    assert.throws(() => fstabEntries([mountAt(target)]), /cannot be mounted/, target);
  }
  assert.throws(() => fstabEntries([mountAt('/a'), mountAt('/a')]), /two volumes/);
});

test('a mount of another source than the requested one is detected', () => {
  const table = parseMountInfo('1 0 254:0 /etc /data rw - ext4 /dev/vda rw\n');
  const location = { device: '254:0', path: '/volumes/v' };
  assert.match(
    findMountMismatch([{ target: '/data', source: location, readOnly: false }], table) ?? '',
    /\/etc was mounted/,
  );
  assert.match(
    findMountMismatch([{ target: '/other', source: location, readOnly: false }], table) ?? '',
    /nothing was mounted/,
  );
  const right = { device: '254:0', path: '/etc' };
  assert.match(
    findMountMismatch([{ target: '/data', source: right, readOnly: true }], table) ?? '',
    /read-only/,
  );
  assert.equal(findMountMismatch([{ target: '/data', source: right, readOnly: false }], table), undefined);
});

test('a command that env(1) would read as an assignment, or with a NUL, is refused', () => {
  const environment = new Map<string, string>();
  assert.throws(() => formatCommandFile({ command: ['a=b'], environment }));
  assert.throws(() => formatCommandFile({ command: [], environment }));
  assert.throws(() => formatCommandFile({ command: ['a', 'b\0'], environment }), /NUL/);
});

test('the identity map of a namespace keeps its ids', () => {
  const ranges = parseIdMap('         0      65534          1\n         1     100000      65536\n');
  assert.equal(formatIdentityMap(ranges), '0 0 1\n1 1 65536\n');
  assert.equal(isMapped(ranges, 1000), true);
  assert.equal(isMapped(ranges, 65_537), false);
});
