import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { CompiledPackageCache } from './compiled-package-cache.ts';

const key = { name: 'app', fingerprint: 'f', dependencyKey: 'lib:l', stemcell: 'tiny/1' };
const sha1 = (text: string) => createHash('sha1').update(text).digest('hex');

test('a package is found only by all of its inputs', async (t) => {
  const cache = new CompiledPackageCache(join(await scratchDirectory(t), 'compiled'));
  await cache.add(key, sha1('content'), (path) => writeFile(path, 'content'));

  assert.equal((await cache.find(key))?.digest, sha1('content'));
  for (const part of ['name', 'fingerprint', 'dependencyKey', 'stemcell']) {
    assert.equal(await cache.find({ ...key, [part]: 'other' }), undefined, part);
  }
});

test('a file that has changed since is not used', async (t) => {
  const directory = await scratchDirectory(t);
  const cache = new CompiledPackageCache(directory);
  await cache.add(key, sha1('content'), (path) => writeFile(path, 'content'));
  const archive = (await readdir(directory)).find((name) => name.endsWith('.tgz')) ?? '';

  await writeFile(join(directory, archive), 'tampered');

  assert.equal(await cache.find(key), undefined);
});

test("a download that differs from the agent's compiled package is not kept", async (t) => {
  const cache = new CompiledPackageCache(await scratchDirectory(t));

  await assert.rejects(
    cache.add(key, sha1('content'), (path) => writeFile(path, 'half')),
    (error) => isProductError(error, 'DIGEST_MISMATCH'),
  );

  assert.equal(await cache.find(key), undefined);
});
