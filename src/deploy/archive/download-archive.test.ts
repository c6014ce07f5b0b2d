import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';
import { test, type TestContext } from 'node:test';
import { verifyFile } from '../../bosh/digest.ts';
import { isProductError } from '../../errors/product-error.ts';
import { errorChain } from '../../platform/error-chain.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { downloadArchive } from './download-archive.ts';

async function serve(t: TestContext, status: number, body: string) {
  const authorizations: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization);
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return {
    url: `http://user:secret@127.0.0.1:${(server.address() as AddressInfo).port}/a.tgz`,
    authorizations,
  };
}

const digests = {
  verify: async (path: string, expected: string) => (await verifyFile(path, expected), expected),
};
const digest = createHash('sha1').update('content').digest('hex');

test('an archive is fetched once and verified', async (t) => {
  const { url, authorizations } = await serve(t, 200, 'content');
  const directory = await scratchDirectory(t);
  const skipped: string[] = [];
  const step = { skip: (reason: string) => void skipped.push(reason) };

  const path = await downloadArchive({ url, digest, directory, digests, signal: undefined }, step);
  const again = await downloadArchive({ url, digest, directory, digests, signal: undefined }, step);

  assert.equal(await readFile(path, 'utf8'), 'content');
  assert.deepEqual(
    [again, authorizations, skipped],
    [path, ['Basic dXNlcjpzZWNyZXQ='], ['Found in local cache']],
  );
});

test('a wrong content or status leaves no files and shows no credentials', async (t) => {
  const directory = await scratchDirectory(t);
  const step = { skip: () => undefined };
  const wrong = await serve(t, 200, 'other content');
  const missing = await serve(t, 404, '');

  await assert.rejects(
    downloadArchive({ url: wrong.url, digest, directory, digests, signal: undefined }, step),
    (error) => isProductError(error, 'DIGEST_MISMATCH'),
  );
  for (const url of [missing.url, 'http://user:secret@127.0.0.1:1/?token=secret']) {
    await assert.rejects(
      downloadArchive({ url, digest, directory, digests, signal: undefined }, step),
      (error) =>
        isProductError(error, 'DOWNLOAD_FAILED') &&
        !errorChain(error).join('\n').includes('secret') &&
        error.message.includes(`expected ${digest}`),
    );
  }
  assert.deepEqual(await readdir(directory), []);
});

test('a cached archive with another digest is fetched again', async (t) => {
  const { url, authorizations } = await serve(t, 200, 'content');
  const directory = await scratchDirectory(t);
  const skipped: string[] = [];
  const step = { skip: (reason: string) => void skipped.push(reason) };
  const download = { url, digest, directory, digests, signal: undefined };
  const path = await downloadArchive(download, step);
  await writeFile(path, 'cont');

  assert.equal(await downloadArchive(download, step), path);

  assert.equal(await readFile(path, 'utf8'), 'content');
  assert.deepEqual([authorizations.length, skipped], [2, []]);

  await writeFile(path, 'cont');
  const unreachable = { ...download, url: url.replace(/:\d+\//, ':1/') };
  await writeFile(
    path.replace(/[0-9a-f]{40}-/, `${createHash('sha1').update(unreachable.url).digest('hex')}-`),
    'cont',
  );
  await assert.rejects(downloadArchive(unreachable, step), { code: 'DOWNLOAD_FAILED' });
  assert.deepEqual(await readdir(directory), [basename(path)], 'the file of the other URL');
});
