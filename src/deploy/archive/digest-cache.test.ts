import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { DigestCache } from './digest-cache.ts';

const digest = (algorithm: string, text: string) => createHash(algorithm).update(text).digest('hex');

async function setUp(t: TestContext) {
  const directory = await scratchDirectory(t);
  const file = join(directory, 'archive.tgz');
  await writeFile(file, 'content');
  const later = () => Date.now() + 60_000;
  return { file, open: (now = later) => DigestCache.open(join(directory, 'digests.json'), now) };
}

test('a changed file is read again, even with the same size and its old time', async (t) => {
  const { file, open } = await setUp(t);
  const time = 1_000_000;
  await utimes(file, time, time);
  assert.equal(await (await open()).verify(file, undefined), `sha256:${digest('sha256', 'content')}`);

  await writeFile(file, 'CONTENT');
  await utimes(file, time, time);

  assert.equal(await (await open()).verify(file, undefined), `sha256:${digest('sha256', 'CONTENT')}`);
});

test('the expected digest is compared with the file, on the first call and on the second', async (t) => {
  const { file, open } = await setUp(t);
  const cache = await open();

  for (const expected of [digest('sha1', 'content'), `sha256:${digest('sha256', 'content')}`]) {
    await cache.verify(file, expected);
    await (await open()).verify(file, expected);
  }
  for (let time = 0; time < 2; time += 1) {
    await assert.rejects(cache.verify(file, digest('sha1', 'other')), (error) =>
      isProductError(error, 'DIGEST_MISMATCH'),
    );
  }
});

test('the error for a missing file names it and the expected digest', async (t) => {
  const { file, open } = await setUp(t);
  const cache = await open();
  const missing = `${file}.missing`;
  const expected = digest('sha1', 'content');

  for (const [requested, end] of [
    [undefined, ''],
    [expected, `, expected ${expected}`],
  ] as const) {
    await assert.rejects(cache.verify(missing, requested), {
      code: 'FILE_NOT_FOUND',
      message: `Cannot read '${missing}': it does not exist${end}`,
    });
  }
});

test('the digest of a file written just now is not cached', async (t) => {
  const { file, open } = await setUp(t);
  await (await open(() => Date.now())).verify(file, undefined);

  await writeFile(file, 'CONTENT');

  assert.equal(await (await open()).verify(file, undefined), `sha256:${digest('sha256', 'CONTENT')}`);
});

test('the digest of a file written a moment ago is cached if the file system has fine timestamps', async (t) => {
  const { file, open } = await setUp(t);
  const { ctimeNs } = await stat(file, { bigint: true });
  if (ctimeNs % 1_000_000_000n === 0n) return t.skip('a file system of whole seconds');
  const known = await open(() => Date.now() + 500);
  await known.verify(file, undefined);
  assert.ok((await readFile(join(file, '..', 'digests.json'), 'utf8')).includes(file));
});

test('a missing file is named', async (t) => {
  const { file, open } = await setUp(t);

  await assert.rejects(
    (await open()).verify(`${file}.missing`, undefined),
    (error) => isProductError(error, 'FILE_NOT_FOUND') && error.message.includes('.missing'),
  );
});
