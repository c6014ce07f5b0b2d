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
  /** Where the registry sends uploads. */
  readonly elsewhere: HostileRegistry;
  readonly client: RegistryClient;
}

/** A registry over TLS that wants a password and hands uploads to another server. */
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

describe('a location of another server', () => {
  test('that is plain http, from https, is refused: nothing is sent there', async (t) => {
    const { elsewhere, client } = await subject(t, 'http');
    await assert.rejects(pushImage(client, memoryImage([layer])), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'REGISTRY_ERROR');
      assert.match(error.message, /answered 202; its location is not https: .*X-Forwarded-Proto/u);
      assert.doesNotMatch(error.message, /secret-state/u);
      return true;
    });
    assert.deepEqual(elsewhere.log, []);
  });

  test('that is https gets the bytes, and not our password', async (t) => {
    const { registry, elsewhere, client } = await subject(t, 'https');
    const image = memoryImage([layer]);
    await pushImage(client, image, { pieceSize: 20_000 });
    for (const blob of [...image.layers, image.config])
      assert.equal(elsewhere.blobs.get(blob.digest)?.length, blob.size);
    assert.ok(elsewhere.authorizations.length > 3);
    assert.ok(elsewhere.authorizations.every((value) => value === undefined));
    assert.ok(registry.authorizations.includes(basic));
    assert.deepEqual(registry.manifests.get(image.descriptor.digest), image.manifest);
  });
});
