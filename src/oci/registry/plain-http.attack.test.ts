import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { NodeTransport } from './http/node-transport.ts';
import { pushImage } from './push-image.ts';
import { RegistryClient } from './registry-client.ts';
import { answer, HostileRegistry } from './testing/hostile-registry.ts';
import { memoryImage } from './testing/memory-image.ts';

const layer = Buffer.alloc(50_000, 'layer');
const credentials = { username: 'robot', password: 'pass-word' };

interface Subject {
  readonly registry: HostileRegistry;
  readonly elsewhere: HostileRegistry;
  /** The address of `elsewhere` as a host that is not loopback: Linux connects 0.0.0.0 to this machine. */
  readonly otherHost: string;
  readonly client: RegistryClient;
}

/** Starts a registry in plain http on loopback, and a server on another host. */
async function subject(t: TestContext): Promise<Subject> {
  const registry = await HostileRegistry.start(t);
  const elsewhere = await HostileRegistry.start(t);
  const client = new RegistryClient({
    ...{ origin: registry.origin, repository: 'team/stemcell', credentials },
    transport: new NodeTransport({ ca: undefined, idleMs: 60_000, signal: undefined }),
    now: () => 0,
    sleep: async () => undefined,
    random: () => 0,
  });
  t.after(() => client.close());
  const otherHost = `http://0.0.0.0:${new URL(elsewhere.origin).port}`;
  return { registry, elsewhere, otherHost, client };
}

describe('a registry in plain http on this machine', () => {
  test('gets no password for a token server in plain http on another host', async (t) => {
    const { registry, elsewhere, otherHost, client } = await subject(t);
    registry.trouble = (request, response) => {
      request.resume();
      answer(response, 401, { 'www-authenticate': `Bearer realm="${otherHost}/token",service="s"` });
      return true;
    };
    await assert.rejects(pushImage(client, memoryImage([layer])), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'REGISTRY_UNAUTHORIZED');
      assert.match(error.message, /token server http:\/\/0\.0\.0\.0:\d+, which is not https/u);
      assert.doesNotMatch(error.message, /pass-word/u);
      return true;
    });
    assert.deepEqual(elsewhere.authorizations, []);
  });

  test('gets no bytes of the image for an upload location in plain http on another host', async (t) => {
    const { registry, elsewhere, otherHost, client } = await subject(t);
    registry.trouble = (request, response) => {
      if (request.method !== 'POST') return undefined;
      elsewhere.uploads.set('upload', Buffer.alloc(0));
      answer(response, 202, { location: `${otherHost}/v2/team/stemcell/blobs/uploads/upload?state=secret` });
      return true;
    };
    await assert.rejects(pushImage(client, memoryImage([layer])), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'REGISTRY_ERROR');
      assert.match(error.message, /its Location is plain http on another host, 0\.0\.0\.0:\d+/u);
      assert.doesNotMatch(error.message, /secret/u);
      return true;
    });
    assert.deepEqual(elsewhere.log, []);
  });

  test('may use a token server on another port of this machine', async (t) => {
    const { registry, elsewhere, client } = await subject(t);
    elsewhere.trouble = (_, response) => {
      answer(response, 200, {}, Buffer.from('{"token":"token"}'));
      return true;
    };
    registry.trouble = (request, response) => {
      if (request.headers.authorization === 'Bearer token') return undefined;
      request.resume();
      answer(response, 401, { 'www-authenticate': `Bearer realm="${elsewhere.origin}/token"` });
      return true;
    };
    const image = memoryImage([layer]);
    await pushImage(client, image);
    assert.deepEqual(registry.manifests.get(image.descriptor.digest), image.manifest);
  });
});
