import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeFile, withPath, writing } from './write-file.ts';

test('the error of a write on a full disk names the file', async () => {
  await assert.rejects(writeFile('/dev/full', 'x'), {
    code: 'ENOSPC',
    path: '/dev/full',
    message: "ENOSPC: no space left on device, write '/dev/full'",
  });
});

test('an error that names a file already, or is of no write, stays as it is', () => {
  for (const code of ['ENOSPC', 'ECONNRESET']) {
    const error = Object.assign(new Error('it was so'), {
      code,
      syscall: 'x',
      ...(code === 'ENOSPC' && { path: '/a' }),
    });
    assert.equal(withPath('/b', error), error);
    assert.equal(error.message, 'it was so');
  }
});

test('the error of a read stays as it is: what is written may be read from another file', async () => {
  const error = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
  await assert.rejects(
    writing('/target', () => Promise.reject(error)),
    { message: 'EIO: i/o error, read' },
  );
  assert.ok(!('path' in error));
});

const rooms = [
  ...['agent', 'bosh', 'cli', 'deploy', 'oci', 'platform', 'stemcell'].map((room) => `src/${room}`),
  'embedded-cluster',
];
/** Writes to /proc and the like, or without any bytes; errors of /dev/null and of a log that is truncated. */
const excepted = ['embedded-cluster/node/runtime/user-namespace.ts'];

test('whatever writes files by descriptor names them in its errors', async () => {
  const source = join(import.meta.dirname, '..', '..');
  const nameless: string[] = [];
  for (const room of rooms) {
    for (const file of await readdir(join(source, room), { recursive: true })) {
      const path = `${room}/${file}`;
      if (!path.endsWith('.ts') || /\.test\.ts$|\/testing\//.test(path) || excepted.includes(path)) continue;
      const text = await readFile(join(source, path), 'utf8');
      const imports = text.match(/^import[^;]*from 'node:fs(?:\/promises)?';$/gm)?.join() ?? '';
      if (
        /\b(?:createWriteStream|writeFile|writeFileSync|appendFile)\b/.test(imports) &&
        !text.includes('write-file.ts')
      )
        nameless.push(path);
    }
  }
  assert.deepEqual(nameless, ['src/platform/write-file.ts']);
});
