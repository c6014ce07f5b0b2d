import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, describe, test } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { systemClock } from '../../platform/clock.ts';
import { deleteManifest, getManifest } from './manifests.ts';
import { type OpenRegistryOptions, openRegistry } from './open-registry.ts';
import { pushImage } from './push-image.ts';
import type { RegistryClient } from './registry-client.ts';
import {
  type DockerRegistry,
  type DockerRegistryOptions,
  dockerRegistryIsMissing,
  startDockerRegistry,
} from './testing/docker-registry.ts';
import { memoryImage } from './testing/memory-image.ts';

const layer = randomBytes(300_000);
const chunkOptions = { chunkBytes: 64_000 };

function clientOf(
  t: TestContext,
  { origin, ca, credentials }: DockerRegistry,
  changes: Partial<OpenRegistryOptions> = {},
): RegistryClient {
  const options = { origin, ca, credentials, clock: systemClock, repository: 'bosh/stemcells' };
  const client = openRegistry({ ...options, ...changes });
  t.after(() => client.close());
  return client;
}

const start = (t: TestContext, options: Partial<DockerRegistryOptions> = {}): Promise<DockerRegistry> =>
  startDockerRegistry(t, { authentication: 'none', deletes: true, ...options });

describe("Docker's registry server", { skip: dockerRegistryIsMissing() }, () => {
  for (const authentication of ['none', 'basic', 'token'] as const) {
    test(`stores an image, mounts its layers elsewhere and deletes it (authentication: ${authentication})`, async (t) => {
      const registry = await start(t, { authentication });
      const client = clientOf(t, registry);
      const image = memoryImage([layer, Buffer.from('small')]);
      const how: string[] = [];
      const push = (to: RegistryClient, more: object = {}): Promise<string> =>
        pushImage(to, image, { ...chunkOptions, ...more, onBlob: (_, pushed) => how.push(pushed) });
      const digest = await push(client, { tag: 'v1' });
      assert.equal(digest, image.descriptor.digest);
      assert.deepEqual(await getManifest(client, digest), image.manifest);
      await push(client, { tag: 'v2' });
      const other = clientOf(t, registry, { repository: 'bosh/mounted' });
      await push(other, { mountFrom: ['bosh/none', 'bosh/stemcells'] });
      assert.deepEqual(how, [
        ...['uploaded', 'uploaded', 'uploaded'],
        ...['present', 'present', 'present'],
        ...['mounted', 'mounted', 'mounted'],
      ]);
      assert.equal(await deleteManifest(client, digest), 'deleted');
      assert.equal(await deleteManifest(client, digest), 'absent');
      assert.deepEqual(await getManifest(other, digest), image.manifest);
      assert.deepEqual(await uploadsIn(registry), []);
    });
  }

  test('an upload starts again when the connection is cut in a chunk', async (t) => {
    const registry = await start(t);
    const at = 150_000;
    const proxy = await startCuttingProxy(t, registry.origin, at);
    const client = clientOf(t, registry, { origin: proxy.origin });
    const image = memoryImage([layer]);
    const digest = await pushImage(client, image, chunkOptions);
    assert.equal(proxy.cuts(), 1);
    assert.deepEqual(await getManifest(client, digest), image.manifest);
    // docs/decisions/0016: two chunks had arrived and had to be sent again.
    assert.ok(proxy.sent() > layer.length + at, `${proxy.sent()}`);
    // The registry does not know the cut upload any more, not even for DELETE, and keeps the bytes until its
    // purge.
    assert.equal((await uploadsIn(registry)).length, 1);
  });

  for (const [how, chunkBytes] of [
    ['in chunks', 24 << 20],
    ['whole', 128 << 20],
  ] as const)
    test(`an interrupt during the upload of a layer ${how} leaves neither upload nor manifest`, async (t) => {
      const registry = await start(t);
      const interruption = new AbortController();
      const client = clientOf(t, registry, { signal: interruption.signal });
      const pushed = pushImage(client, memoryImage([randomBytes(96 << 20)]), { chunkBytes });
      const isRefused = assert.rejects(pushed, /interrupted by a test/u);
      await until('the layer to be on its way', async () => {
        const [data] = await uploadsIn(registry);
        return data !== undefined && (await stat(join(registry.storage, data))).size > 0;
      });
      interruption.abort(new Error('interrupted by a test'));
      await isRefused;
      // The registry keeps a few bytes of hash state of a canceled upload, but not the layer. It is slow and
      // finishes after the client has disconnected.
      await until('the upload to go', async () => (await uploadsIn(registry)).length === 0);
      assert.deepEqual(await pathsIn(registry, /_manifests\/./u), []);
    });

  test('a user without the delete permission sees the original error, and pushes although another repository is forbidden', async (t) => {
    const registry = await start(t, { authentication: 'token' });
    const image = memoryImage([layer]);
    await pushImage(clientOf(t, registry), image, chunkOptions);
    const other = clientOf(t, registry, { repository: 'bosh/other' });
    registry.tokens?.withheld.add('bosh/other:delete').add('bosh/secret:pull');
    const damaged = Buffer.from(randomBytes(300_000));
    for (const chunkBytes of [64_000, 1_000_000])
      await assert.rejects(pushImage(other, memoryImage([damaged], layer), { chunkBytes }), {
        code: 'DIGEST_MISMATCH',
      });
    const push = async (mountFrom: readonly string[], content = image): Promise<readonly string[]> => {
      const how: string[] = [];
      await pushImage(other, content, {
        ...chunkOptions,
        mountFrom,
        onBlob: (_, pushed) => how.push(pushed),
      });
      return how;
    };
    // An upload that the first mount request has started cannot be canceled.
    assert.deepEqual(await push(['bosh/none', 'bosh/secret', 'bosh/stemcells']), ['mounted', 'mounted']);
    assert.deepEqual(await push(['bosh/secret'], memoryImage([randomBytes(100_000)])), [
      'uploaded',
      'present',
    ]);
  });

  test('a wrong password, missing credentials and an untrusted certificate are one clear error each', async (t) => {
    const image = memoryImage([layer]);
    for (const authentication of ['basic', 'token'] as const) {
      const registry = await start(t, { authentication });
      const mistaken = { username: 'robot', password: 'not-the-password' };
      for (const credentials of [mistaken, undefined]) {
        await assert.rejects(
          pushImage(clientOf(t, registry, { credentials }), image, chunkOptions),
          (error: Error & { code?: string }) => {
            assert.equal(error.code, 'REGISTRY_UNAUTHORIZED', error.message);
            assert.doesNotMatch(error.message, /not-the-password/u);
            return true;
          },
        );
      }
      const unread = '-----BEGIN CERTIFICATE-----\nhalf of one';
      for (const [ca, message] of [
        [undefined, /certificate cannot be verified/u],
        [unread, /configured CA has a certificate that cannot be read/u],
      ] as const) {
        const client = clientOf(t, registry, { ca });
        await assert.rejects(pushImage(client, image, chunkOptions), {
          code: 'REGISTRY_UNREACHABLE',
          message,
        });
      }
    }
  });

  test('a registry without deletion refuses a delete', async (t) => {
    const registry = await start(t, { deletes: false });
    const client = clientOf(t, registry);
    const digest = await pushImage(client, memoryImage([layer]), chunkOptions);
    assert.equal(await deleteManifest(client, digest), 'refused');
    assert.ok(await getManifest(client, digest));
  });

  test('damaged bytes leave neither blob nor upload', async (t) => {
    const registry = await start(t);
    const client = clientOf(t, registry);
    const damaged = Buffer.from(layer).fill(0, 200_000, 200_010);
    for (const chunkBytes of [64_000, 1_000_000]) {
      await assert.rejects(pushImage(client, memoryImage([layer], damaged), { chunkBytes }), {
        code: 'DIGEST_MISMATCH',
      });
    }
    assert.deepEqual(await uploadsIn(registry), []);
    assert.deepEqual(await pathsIn(registry, /_layers.*link$/u), []);
  });
});

const uploadsIn = (registry: DockerRegistry): Promise<string[]> => pathsIn(registry, /_uploads\/.+\/data$/u);

async function pathsIn({ storage }: DockerRegistry, pattern: RegExp): Promise<string[]> {
  const entries = await readdir(storage, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(storage.length))
    .filter((path) => pattern.test(path));
}

interface CuttingProxy {
  /** An https URL; the certificate is the registry's. */
  readonly origin: string;
  /** Bytes that the client has sent. */
  readonly sent: () => number;
  readonly cuts: () => number;
}

/**
 * Forwards TCP to a port of this machine. It cuts the connection that carries byte `at`, counted over all
 * connections.
 */
async function startCuttingProxy(t: TestContext, target: string, at: number): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let sent = 0;
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', end).on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    upstream.pipe(client);
    client.on('data', (chunk: Buffer) => {
      const isCut = sent < at && sent + chunk.length >= at;
      upstream.write(isCut ? chunk.subarray(0, at - sent) : chunk);
      sent += chunk.length;
      if (!isCut) return;
      cuts += 1;
      client.destroy();
      // The bytes before the cut still arrive.
      upstream.end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, sent: () => sent, cuts: () => cuts };
}
