import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { makeServerCertificate } from '../../bosh/testing/certificates.ts';
import { NodeTransport } from './http/node-transport.ts';
import { pushImage } from './push-image.ts';
import { RegistryClient } from './registry-client.ts';
import { answer, HostileRegistry } from './testing/hostile-registry.ts';
import { memoryImage } from './testing/memory-image.ts';

const layer = Buffer.alloc(50_000, 'layer');
const credentials = { username: 'robot', password: 'pass-word' };
const basic = `Basic ${Buffer.from('robot:pass-word').toString('base64')}`;

interface Subject {
  readonly registry: HostileRegistry;
  /** The server to which the registry sends uploads. */
  readonly elsewhere: HostileRegistry;
  readonly client: RegistryClient;
}

/** Starts a registry over TLS that requires a password and sends uploads to another server. */
async function subject(t: TestContext, scheme: 'http' | 'https'): Promise<Subject> {
  const certificate = await makeServerCertificate();
  const registry = await HostileRegistry.start(t, certificate);
  const elsewhere = await HostileRegistry.start(t, scheme === 'https' ? certificate : undefined);
  registry.trouble = (request, response) => {
    if (request.headers.authorization !== basic) {
      answer(response, 401, { 'www-authenticate': 'Basic realm="here"' });
      return true;
    }
    if (request.method !== 'POST') return undefined;
    const id = `upload-${registry.log.length}`;
    elsewhere.uploads.set(id, Buffer.alloc(0));
    answer(response, 202, {
      location: `${elsewhere.origin}/v2/team/stemcell/blobs/uploads/${id}?state=secret-state%3D`,
    });
    return true;
  };
  const client = new RegistryClient({
    ...{ origin: registry.origin, repository: 'team/stemcell', credentials },
    transport: new NodeTransport({ ca: certificate.ca, idleMs: 60_000, signal: undefined }),
    now: () => 0,
    sleep: async () => undefined,
    random: () => 0,
  });
  t.after(() => client.close());
  return { registry, elsewhere, client };
}

describe('an upload location on another server', () => {
  test('is refused if it changes from https to plain http, and gets no request', async (t) => {
    const { elsewhere, client } = await subject(t, 'http');
    await assert.rejects(pushImage(client, memoryImage([layer])), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'REGISTRY_ERROR');
      assert.match(
        error.message,
        /answered 202; its Location is not https: http:\/\/127\.0\.0\.1:\d+; .*X-Forwarded-Proto/u,
      );
      assert.doesNotMatch(error.message, /secret-state/u);
      return true;
    });
    assert.deepEqual(elsewhere.log, []);
  });

  test('gets the bytes over https, without our password', async (t) => {
    const { registry, elsewhere, client } = await subject(t, 'https');
    const image = memoryImage([layer]);
    await pushImage(client, image, { chunkBytes: 20_000 });
    for (const blob of [...image.layers, image.config])
      assert.equal(elsewhere.blobs.get(blob.digest)?.length, blob.size);
    assert.ok(elsewhere.authorizations.length > 3);
    assert.ok(elsewhere.authorizations.every((value) => value === undefined));
    assert.ok(registry.authorizations.includes(basic));
    assert.deepEqual(registry.manifests.get(image.descriptor.digest), image.manifest);
  });
});

describe('a redirect of the registry', () => {
  /**
   * Makes the registry of `subject` redirect the requests that match. It still requires its password for all
   * requests.
   */
  function redirect(
    { registry }: Subject,
    to: string,
    fits: (method: string) => boolean,
    { status = 307, path }: { readonly status?: number; readonly path?: string } = {},
  ): void {
    registry.trouble = (request, response) => {
      const isKnown = request.headers.authorization === basic;
      if (isKnown && !fits(request.method ?? '')) return undefined;
      request.resume();
      if (isKnown) answer(response, status, { location: `${to}${path ?? request.url}` });
      else answer(response, 401, { 'www-authenticate': 'Basic realm="here"' });
      return true;
    };
  }
  const anything = (): boolean => true;
  const fails =
    (message: RegExp, code = 'REGISTRY_ERROR') =>
    (error: Error & { code?: string }) => {
      assert.equal(error.code, code);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /secret-state|pass-word/u);
      return true;
    };
  const chunkOptions = { chunkBytes: 20_000 };

  test('sends every request to another registry over https without our password', async (t) => {
    const made = await subject(t, 'https');
    const { elsewhere, client } = made;
    redirect(made, elsewhere.origin, anything);
    const image = memoryImage([layer]);
    await pushImage(client, image, chunkOptions);
    for (const blob of [...image.layers, image.config])
      assert.equal(elsewhere.blobs.get(blob.digest)?.length, blob.size);
    assert.deepEqual(elsewhere.manifests.get(image.descriptor.digest), image.manifest);
    assert.ok(elsewhere.authorizations.length > 5);
    assert.ok(elsewhere.authorizations.every((value) => value === undefined));
  });

  test('with 308 sends the chunks and the final PUT again', async (t) => {
    const made = await subject(t, 'https');
    const { registry, elsewhere, client } = made;
    const image = memoryImage([layer]);
    redirect(
      made,
      elsewhere.origin,
      (method) => method === 'PATCH' || (method === 'PUT' && registry.uploads.size > 0),
      {
        status: 308,
      },
    );
    const begin = registry.trouble;
    registry.trouble = (request, response) => {
      const isTaken = begin(request, response);
      // The other registry knows the uploads that this one starts.
      for (const id of registry.uploads.keys())
        if (!elsewhere.uploads.has(id)) elsewhere.uploads.set(id, Buffer.alloc(0));
      return isTaken;
    };
    await pushImage(client, image, chunkOptions);
    assert.equal(elsewhere.blobs.get(image.layers[0]?.digest ?? '')?.length, layer.length);
    assert.ok(elsewhere.authorizations.every((value) => value === undefined));
  });

  test('to plain http, or with 302, sends no request, and the error names the target and the reason', async (t) => {
    const plain = await subject(t, 'http');
    redirect(plain, plain.elsewhere.origin, (method) => method === 'POST', {
      path: '/v2/x?state=secret-state',
    });
    const named = /answered 307; it redirects to http:\/\/127\.0\.0\.1:\d+; its Location is not https/u;
    await assert.rejects(pushImage(plain.client, memoryImage([layer])), fails(named));
    const found = await subject(t, 'https');
    redirect(found, found.elsewhere.origin, (method) => method === 'POST', { status: 302 });
    const kept =
      /answered 302; it redirects to https:\/\/127\.0\.0\.1:\d+, and only redirects with 307 and 308 are followed/u;
    await assert.rejects(pushImage(found.client, memoryImage([layer])), fails(kept));
    assert.deepEqual([...plain.elsewhere.log, ...found.elsewhere.log], []);
  });

  test('to a registry that needs a password, or in a circle, is an error that names it', async (t) => {
    const made = await subject(t, 'https');
    const { registry, elsewhere, client } = made;
    redirect(made, elsewhere.origin, (method) => method === 'POST');
    elsewhere.trouble = (_, response) => {
      answer(response, 401, { 'www-authenticate': 'Basic realm="there"' });
      return true;
    };
    const there =
      /answered 401; the response is from 127\.0\.0\.1:\d+, to which the registry redirects the request but no password/u;
    await assert.rejects(pushImage(client, memoryImage([layer])), fails(there, 'REGISTRY_UNAUTHORIZED'));
    assert.ok(elsewhere.authorizations.every((value) => value === undefined));
    redirect(made, registry.origin, (method) => method === 'POST');
    const before = registry.log.length;
    await assert.rejects(
      pushImage(client, memoryImage([layer])),
      fails(/redirects the request more than 5 times/u),
    );
    assert.ok(registry.log.length - before < 12);
  });

  test('of a HEAD request to a blob storage counts as an existing blob', async (t) => {
    const made = await subject(t, 'https');
    const { elsewhere, client } = made;
    redirect(made, elsewhere.origin, (method) => method === 'HEAD', {
      path: '/bucket/key?signature=secret-state',
    });
    const how: string[] = [];
    await pushImage(client, memoryImage([layer]), { onBlob: (_, pushed) => how.push(pushed) });
    assert.deepEqual(how, ['present', 'present']);
    assert.deepEqual(elsewhere.log, []);
  });
});
