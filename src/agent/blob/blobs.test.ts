import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import type { ErrorCode } from '../../errors/error-table.ts';
import { isProductError } from '../../errors/product-error.ts';
import { systemClock } from '../../platform/clock.ts';
import { systemPrograms } from '../process/programs.ts';
import { DavServer } from '../testing/dav-server.ts';
import { freePort } from '../testing/nats-server.ts';
import { directoriesOf } from '../directories.ts';
import { Blobs } from './blobs.ts';
import { LocalBlobs } from './local-blobs.ts';
import { multiDigestOfFile } from './digest.ts';
import { trustedCas } from './http-transfer.ts';
import { openBlobstore } from './open-blobstore.ts';

const content = Buffer.from('content of a blob');
const sha1 = createHash('sha1').update(content).digest('hex');
const noPause = { ...systemClock, sleep: async (): Promise<void> => {} };

interface Scene {
  readonly dav: DavServer;
  readonly blobs: Blobs;
  readonly temporary: string;
}

async function scene(t: TestContext): Promise<Scene> {
  const dav = await DavServer.start();
  t.after(() => dav.close());
  const directory = await mkdtemp(join(tmpdir(), 'blobs-'));
  t.after(() => rm(directory, { recursive: true }));
  const [temporary, own] = [join(directory, 'tmp'), join(directory, 'blobs')];
  await mkdir(temporary);
  await mkdir(own);
  const ports = { programs: systemPrograms, clock: systemClock, directories: directoriesOf(directory) };
  const remote = openBlobstore(dav.settings, ports);
  const options = { local: new LocalBlobs(own), remote: () => remote, ca: () => dav.ca, temporary };
  return { dav, blobs: new Blobs({ ...options, clock: noPause }), temporary };
}

const read = (blobs: Blobs, source: Parameters<Blobs['withVerified']>[0]): Promise<Buffer> =>
  blobs.withVerified(source, 'package a', (path) => readFile(path));
const is = (code: ErrorCode, pattern: RegExp) => (error: unknown) =>
  isProductError(error, code) && pattern.test(error.message);
const isInvalid = (pattern: RegExp) => is('AGENT_BLOB_INVALID', pattern);
const hasFailed = (pattern: RegExp) => is('AGENT_BLOBSTORE_FAILED', pattern);

test('reads blobs of the VM first, then of the WebDAV server, and leaves no file', async (t) => {
  const { dav, blobs, temporary } = await scene(t);
  dav.add('remote', content);
  assert.deepEqual(await read(blobs, { blobId: 'remote', digest: sha1 }), content);
  await blobs.local.write('remote', Readable.from([Buffer.from('own')]));
  await assert.rejects(read(blobs, { blobId: 'remote', digest: sha1 }), isInvalid(/package a .*expected/u));
  assert.deepEqual(await readdir(temporary), []);
});

test('a missing blob and a wrong digest name the blob and leave no file', async (t) => {
  const { dav, blobs, temporary } = await scene(t);
  await assert.rejects(
    read(blobs, { blobId: 'none', digest: sha1 }),
    is(
      'AGENT_BLOB_NOT_FOUND',
      /^package a \(blob 'none'\): the blobstore has no blob at https:\S+: upload the release again/u,
    ),
  );
  const signed = { url: dav.signedUrl('GET', 'none'), headers: {} };
  await assert.rejects(
    read(blobs, { digest: sha1, signed }),
    is('AGENT_BLOB_NOT_FOUND', /^package a: the blobstore has no blob at https:/u),
  );
  dav.add('other', Buffer.from('other'));
  await assert.rejects(read(blobs, { blobId: 'other', digest: sha1 }), isInvalid(/expected/u));
  assert.deepEqual(await readdir(temporary), []);
});

test('stores a file under a new id, and names what to do if the server refuses it', async (t) => {
  const { dav, blobs, temporary } = await scene(t);
  const stored = await blobs.store((path) => writeFile(path, content));
  assert.deepEqual(dav.find(stored.id), content);
  assert.equal(stored.sha1, sha1);
  for (const [status, step] of [
    [507, /status 507 .*free space in the blobstore/u],
    [401, /status 401 .*check the user and the password/u],
  ] as const) {
    dav.putStatus = status;
    await assert.rejects(
      blobs.store((path) => writeFile(path, content)),
      (error) => isProductError(error, 'AGENT_BLOBSTORE_FAILED') && step.test(error.message),
    );
  }
  assert.deepEqual(await readdir(temporary), []);
});

test('a signed URL needs no credentials, and its signature is in no message', async (t) => {
  const { dav, blobs } = await scene(t);
  dav.add('signed', content);
  const signed = { url: dav.signedUrl('GET', 'signed'), headers: {} };
  assert.deepEqual(await read(blobs, { digest: sha1, signed }), content);
  const target = { url: dav.signedUrl('PUT', 'result'), headers: {} };
  const digests = await blobs.upload(target, (path) => writeFile(path, content), multiDigestOfFile);
  assert.equal(digests, `${sha1};sha512:${createHash('sha512').update(content).digest('hex')}`);
  assert.deepEqual(dav.find('result'), content);
  const wrong = { url: `${dav.signedUrl('GET', 'signed')}0&st=wrong-signature`, headers: {} };
  await assert.rejects(
    read(blobs, {
      digest: sha1,
      signed: { ...wrong, url: wrong.url.replace(/st=[^&]+/u, 'st=wrong-signature') },
    }),
    (error) => {
      assert.ok(hasFailed(/^package a: GET .*status 401 .*whether a signed URL has expired/u)(error));
      assert.doesNotMatch(String(error), /wrong-signature/u);
      return true;
    },
  );
});

test('a server with a certificate of another CA is not used', async (t) => {
  const { dav } = await scene(t);
  const other = await scene(t);
  const settings = {
    ...dav.settings,
    options: { ...dav.settings.options, tls: { cert: { ca: other.dav.ca } } },
  };
  const ports = { programs: systemPrograms, clock: systemClock, directories: directoriesOf('/nonexistent') };
  dav.add('remote', content);
  const path = join(other.temporary, 'file');
  await assert.rejects(
    async () => openBlobstore(settings, ports)?.get('remote', path),
    hasFailed(/: check that tls\.cert\.ca of the blobstore's options, .* has the CA of the server/u),
  );
});

test('each failure of a blobstore names what to check', async (t) => {
  const { dav, blobs } = await scene(t);
  for (const [status, step] of [
    [302, /status 302 Found: check the endpoint of the blobstore$/u],
    [405, /status 405 Method Not Allowed: check the endpoint of the blobstore$/u],
    [503, /status 503 Service Unavailable: check the log of the blobstore$/u],
  ] as const) {
    dav.intercept = (request, response) =>
      Boolean(request.resume() && response.writeHead(status, { location: '/other' }).end());
    await assert.rejects(read(blobs, { blobId: 'remote', digest: sha1 }), hasFailed(step));
    await assert.rejects(
      blobs.store((path) => writeFile(path, content)),
      hasFailed(step),
    );
  }
  dav.intercept = (request, response) => Boolean(request.resume() && response.writeHead(404).end());
  await assert.rejects(
    blobs.store((path) => writeFile(path, content)),
    hasFailed(/PUT \S+ failed: status 404 Not Found: check the endpoint of the blobstore$/u),
  );
  dav.intercept = (request) => Boolean(request.socket.destroy());
  const reachable = /: check that the blobstore runs and is reachable from this VM$/u;
  await assert.rejects(read(blobs, { blobId: 'remote', digest: sha1 }), hasFailed(reachable));
  const url = `https://127.0.0.1:${await freePort()}/remote`;
  await assert.rejects(read(blobs, { signed: { url, headers: {} }, digest: sha1 }), hasFailed(reachable));
});

test('an endpoint of a server without TLS is named as the cause', async (t) => {
  const { blobs } = await scene(t);
  const server = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/blob`;
  await assert.rejects(
    read(blobs, { signed: { url, headers: {} }, digest: sha1 }),
    hasFailed(/: check that the endpoint of the blobstore is that of a server with TLS$/u),
  );
});

test('a blob of which the connection is cut is fetched again, and in the end the cause is told', async (t) => {
  const { dav, blobs, temporary } = await scene(t);
  dav.add('remote', content);
  let requests = 0;
  const cutBefore =
    (success: number, headers: Record<string, number>) =>
    (_request: unknown, response: ServerResponse): boolean => {
      requests += 1;
      if (requests >= success) return false;
      response.writeHead(200, headers);
      response.write(content.subarray(0, 5), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
  dav.intercept = cutBefore(3, { 'content-length': content.length });
  assert.deepEqual(await read(blobs, { blobId: 'remote', digest: sha1 }), content);
  for (const headers of [{ 'content-length': content.length }, {}]) {
    requests = 0;
    dav.intercept = cutBefore(100, headers);
    await assert.rejects(
      read(blobs, { blobId: 'remote', digest: sha1 }),
      hasFailed(
        /package a \(blob 'remote'\): GET https:.* failed: the connection ended after 5.*: check that/u,
      ),
    );
    assert.equal(requests, 3);
  }
  assert.deepEqual(await readdir(temporary), []);
});

test('a blobstore that is full or refuses the password is named for downloads and for large uploads', async (t) => {
  const { dav, blobs, temporary } = await scene(t);
  const large = Buffer.alloc(8 << 20);
  for (const [status, step] of [
    [401, /status 401 .*check the user and the password/u],
    [507, /status 507 .*free space in the blobstore/u],
  ] as const) {
    // as nginx, which answers before it has read the body, and then discards it
    dav.intercept = (request, response) => Boolean(request.resume() && response.writeHead(status).end());
    await assert.rejects(read(blobs, { blobId: 'remote', digest: sha1 }), hasFailed(step));
    await assert.rejects(
      blobs.store((path) => writeFile(path, large)),
      (error) => isProductError(error, 'AGENT_BLOBSTORE_FAILED') && step.test(error.message),
    );
  }
  dav.intercept = (request) => Boolean(request.socket.destroy());
  await assert.rejects(
    blobs.store((path) => writeFile(path, large)),
    /PUT https:\S+ failed: .*: the server ended the connection before it had everything; its log has/u,
  );
  assert.deepEqual(await readdir(temporary), []);
});

test('without a CA of the blobstore, the certificate store of the VM counts', async (t) => {
  const { temporary } = await scene(t);
  const store = join(temporary, 'ca-certificates.crt');
  assert.equal(await trustedCas(undefined, store), undefined);
  await writeFile(store, 'trusted_certs');
  assert.equal(await trustedCas(undefined, store), 'trusted_certs');
  assert.equal(await trustedCas('of the blobstore', store), 'of the blobstore');
});

test('an id that is no file name reaches no blobstore', async (t) => {
  const { dav, blobs } = await scene(t);
  let requests = 0;
  dav.intercept = () => {
    requests += 1;
    return false;
  };
  for (const blobId of ['..', '../../etc/passwd', '/etc/passwd', 'a/b', '-c', '.hidden', '', 'a\0b', 'a\n'])
    await assert.rejects(
      read(blobs, { blobId, digest: sha1 }),
      (error) =>
        isProductError(error, 'AGENT_ARGUMENT_INVALID') &&
        error.message === 'the blob id of package a must be the name of a file',
    );
  assert.equal(requests, 0);
});
