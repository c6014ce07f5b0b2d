import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { LocalBlobs } from './local-blobs.ts';

test('a failed upload keeps the previous blob, and its remains are removed at the next start', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'agent-'));
  t.after(() => rm(directory, { recursive: true }));
  const blobs = new LocalBlobs(directory);
  await blobs.write('one', Readable.from(['first']));
  const broken = Readable.from(
    (function* () {
      yield 'half';
      throw new Error('connection lost');
    })(),
  );
  await assert.rejects(blobs.write('one', broken), /connection lost/);
  assert.deepEqual(await readdir(directory), ['one']);
  assert.equal(await readFile(join(directory, 'one'), 'utf8'), 'first');
  await writeFile(join(directory, '.partial-x'), 'left by a kill');
  await blobs.prepare();
  assert.deepEqual(await readdir(directory), ['one']);
  assert.equal(await blobs.find('two'), undefined);
  assert.equal(await blobs.find('../one'), undefined);
  await blobs.remove('one');
  await blobs.remove('one');
  assert.equal(await blobs.find('one'), undefined);
});
