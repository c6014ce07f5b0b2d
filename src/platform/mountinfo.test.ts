import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseMountInfo } from './mountinfo.ts';

/** Escapes a path as the kernel's show_mountinfo does. */
const escaped = (path: string): string =>
  path.replaceAll(/[ \t\n\\]/gu, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);

test('a path of any characters is read as it is', () => {
  const path = fc
    .array(fc.constantFrom(' ', '\t', '\n', '\\', '0', '4', 'a', '-', '#', 'é'), { minLength: 1 })
    .map((chars) => `/${chars.join('')}`);
  fc.assert(
    fc.property(fc.array(path), (paths) => {
      const lines = paths.map(
        (each, index) =>
          `${index} 1 0:${index} / ${escaped(each)} rw,nosuid shared:1 master:2 - nfs4 h:/x rw\n`,
      );
      assert.deepEqual(
        parseMountInfo(lines.join('')).map(({ target }) => target),
        paths,
      );
    }),
  );
});

test('all of a line is told, with and without optional fields', () => {
  const text = `35 98 0:33 /top\\040dir /mnt/a\\040b ro,nosuid - cifs //host/my\\040share rw,vers=3.1.1
36 98 0:34 / /mnt/c rw shared:9 master:2 - fuse /mnt/c_mapfs rw,user_id=0\n`;
  assert.deepEqual(parseMountInfo(text), [
    {
      ...{ device: '0:33', root: '/top dir', target: '/mnt/a b', options: ['ro', 'nosuid'], isShared: false },
      ...{ type: 'cifs', source: '//host/my share', fileSystemOptions: ['rw', 'vers=3.1.1'] },
    },
    {
      ...{ device: '0:34', root: '/', target: '/mnt/c', options: ['rw'], isShared: true },
      ...{ type: 'fuse', source: '/mnt/c_mapfs', fileSystemOptions: ['rw', 'user_id=0'] },
    },
  ]);
});
