import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isSameMountRoot, mountAt, parseMounts, locateOnFilesystem } from './mount-table.ts';

const table = parseMounts(`21 1 0:20 / / rw - overlay overlay rw
30 21 0:33 / /warden-cpi-dev rw,relatime shared:1 master:4 - tmpfs hub rw
31 30 8:1 /volumes/pv\\0401 /warden-cpi-dev/disks/disk-1 rw - ext4 /dev/sda1 rw
32 21 8:1 /volumes/pv\\0401/store /var/vcap/store rw - ext4 /dev/sda1 rw
33 21 0:40 / /tmp/x rw - tmpfs a rw
34 21 0:41 / /tmp/x rw - tmpfs b rw
`);

test('recognises a directory of a volume at its bind mount', () => {
  const volume = locateOnFilesystem(table, '/warden-cpi-dev/disks/disk-1/store');
  assert.deepEqual(volume?.root, '/volumes/pv 1/store');
  assert.equal(isSameMountRoot(volume, mountAt(table, '/var/vcap/store')), true);
  assert.equal(
    isSameMountRoot(
      locateOnFilesystem(table, '/warden-cpi-dev/disks/disk-1'),
      mountAt(table, '/var/vcap/store'),
    ),
    false,
  );
  assert.equal(
    isSameMountRoot(
      locateOnFilesystem(table, '/warden-cpi-dev/disks/disk-12'),
      mountAt(table, '/warden-cpi-dev'),
    ),
    false,
  );
});

test('the last of several mounts at one path is the visible one', () => {
  assert.equal(mountAt(table, '/tmp/x')?.device, '0:41');
  assert.equal(locateOnFilesystem(table, '/tmp/x/y')?.device, '0:41');
  assert.deepEqual(locateOnFilesystem(table, '/'), { device: '0:20', root: '/' });
  assert.equal(isSameMountRoot(undefined, undefined), false);
});

test('a mount is read-only by its own options, not by those of its file system', () => {
  const line = (own: string, all: string): string => `1 2 8:1 / /x ${own} shared:1 - ext4 /dev/sda1 ${all}\n`;
  assert.equal(parseMounts(line('ro,relatime', 'rw'))[0]?.isReadOnly, true);
  assert.equal(parseMounts(line('rw,relatime', 'ro'))[0]?.isReadOnly, false);
});

test('property: parses any mount point of a mountinfo line', () => {
  const octal = (text: string): string =>
    text.replace(/[ \t\n\\]/g, (mark) => `\\${mark.charCodeAt(0).toString(8).padStart(3, '0')}`);
  const path = fc.stringMatching(/^\/[ -~\t\n]{0,20}$/);
  fc.assert(
    fc.property(path, path, (root, mountPoint) => {
      const [mount] = parseMounts(`1 2 8:1 ${octal(root)} ${octal(mountPoint)} rw - ext4 x rw\n`);
      assert.deepEqual(mount, { device: '8:1', root, mountPoint, isReadOnly: false });
    }),
  );
});
