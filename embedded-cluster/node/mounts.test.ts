import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { formatFstab, flagsToPreserve, mountOf, mountsOfSource, sourceOf } from './mounts.ts';
import { mountsAtOrBelow, parseMountInfo } from '../../src/platform/mountinfo.ts';

const table = parseMountInfo(
  [
    '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard',
    '28 27 0:25 / /tmp rw,nosuid,nodev,noexec,relatime shared:5 master:3 - tmpfs tmpfs rw',
    '29 28 254:0 /data/v\\0401 /tmp/with\\040space rw propagate_from:2 - ext4 /dev/vda rw',
    '',
  ].join('\n'),
);

test('parses targets with escapes', () => {
  assert.deepEqual(
    table.map(({ target, root }) => ({ target, root })),
    [
      { target: '/', root: '/' },
      { target: '/tmp', root: '/' },
      { target: '/tmp/with space', root: '/data/v 1' },
    ],
  );
});

test('finds the covering mount, the mounts below, and the source of a path', () => {
  assert.equal(mountOf(table, '/tmp/x').target, '/tmp');
  assert.equal(mountOf(table, '/tmpfile').target, '/');
  assert.deepEqual(
    mountsAtOrBelow(table, '/tmp').map((entry) => entry.target),
    ['/tmp', '/tmp/with space'],
  );
  assert.deepEqual(mountsAtOrBelow(table, '/tmp/with'), []);
  assert.deepEqual(sourceOf(table, '/tmp/with space/deep'), { device: '254:0', path: '/data/v 1/deep' });
  assert.deepEqual(sourceOf(table, '/data'), { device: '254:0', path: '/data' });
  assert.deepEqual(
    mountsOfSource(table, sourceOf(table, '/data')).map((entry) => entry.target),
    ['/tmp/with space'],
  );
  assert.deepEqual(mountsOfSource(table, sourceOf(table, '/dat')), []);
});

test('lists the flags that a remount must repeat', () => {
  assert.deepEqual(flagsToPreserve(mountOf(table, '/tmp')), ['nosuid', 'nodev', 'noexec', 'relatime']);
});

test('property: an fstab line has six fields for any path', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1 }).filter((path) => !path.includes('\0')),
      (path) => {
        const line = formatFstab([
          { source: `/${path}`, target: `/${path}`, type: 'none', options: ['bind'] },
        ]);
        assert.equal(line.trimEnd().split(/\s+/).length, 6);
        assert.equal(line.indexOf('\n'), line.length - 1);
      },
    ),
  );
});
