import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, test, type TestContext } from 'node:test';
import { systemClock } from '../../platform/clock.ts';
import { NodeTransport } from './http/node-transport.ts';
import { openRegistry } from './open-registry.ts';
import { pushImage } from './push-image.ts';
import { RegistryClient } from './registry-client.ts';
import { type Trouble, answer, HostileRegistry, refuse } from './testing/hostile-registry.ts';
import { memoryImage } from './testing/memory-image.ts';

const layer = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
const chunked = 16_000;
const whole = 1_000_000;

interface Failing {
  readonly name: string;
  readonly chunkBytes: number;
  readonly fits: (method: string, path: string) => boolean;
  readonly problem: Trouble;
  readonly error: { readonly code: string; readonly message: RegExp };
  /** How often an upload is started. */
  readonly starts: number;
}

const refused =
  (status: number, headers: Readonly<Record<string, string>> = {}): Trouble =>
  (request, response) => {
    request.resume();
    if (Object.keys(headers).length > 0) answer(response, status, headers);
    else refuse(response, status, 'UNKNOWN', 'disk full');
    return true;
  };

/** Keeps only the first bytes of the body, as a registry does when a connection breaks. */
const cut: (registry: HostileRegistry) => Trouble = (registry) => async (request) => {
  const id = /uploads\/([^?]+)/u.exec(request.url ?? '')?.[1] ?? '';
  const previous = registry.uploads.get(id);
  for await (const chunk of request as AsyncIterable<Buffer>) {
    // Does not create an upload that does not exist.
    if (previous !== undefined && previous.length === 0) registry.uploads.set(id, chunk.subarray(0, 1));
    break;
  }
  request.socket.destroy();
  return true;
};

const isUpload = (path: string): boolean => path.includes('/blobs/uploads/');
const broken = { code: 'REGISTRY_UNREACHABLE', message: /upload of sha256:.*connection/u };
const busy = {
  code: 'REGISTRY_BUSY',
  message: /team\/stemcell: upload of sha256:.*answered 500; it says: UNKNOWN disk full/u,
};

const cases = (registry: HostileRegistry): readonly Failing[] => [
  ...[chunked, whole].flatMap((chunkBytes) => {
    const method = chunkBytes === chunked ? 'PATCH' : 'PUT';
    const fits = (got: string, path: string): boolean => got === method && isUpload(path);
    const name = (suffix: string): string => `${method} ${suffix}`;
    return [
      { name: name('always cut off'), chunkBytes, fits, problem: cut(registry), error: broken, starts: 4 },
      { name: name('always answered 500'), chunkBytes, fits, problem: refused(500), error: busy, starts: 4 },
      {
        ...{ name: name('answered 429 for an hour'), chunkBytes, fits, starts: 1 },
        problem: refused(429, { 'retry-after': '3600' }),
        error: { code: 'REGISTRY_BUSY', message: /answered 429/u },
      },
      ...[
        { status: 401, message: /did not say how to authenticate/u },
        { status: 403, message: /team\/stemcell: upload of sha256:.*answered 403/u },
      ].map(({ status, message }) => ({
        ...{ name: name(`always answered ${status}`), chunkBytes, fits, problem: refused(status), starts: 1 },
        error: { code: 'REGISTRY_UNAUTHORIZED', message },
      })),
    ];
  }),
  {
    ...{ name: 'the PUT after the chunks always answered 500', chunkBytes: chunked, starts: 4 },
    fits: (method, path) => method === 'PUT' && isUpload(path),
    ...{ problem: refused(500), error: busy },
  },
  {
    ...{ name: 'the manifest always answered 500', chunkBytes: chunked, starts: 2 },
    fits: (method, path) => method === 'PUT' && path.includes('/manifests/'),
    problem: refused(500),
    error: { code: 'REGISTRY_BUSY', message: /team\/stemcell: manifest v1: answered 500/u },
  },
];

describe('a push that fails', () => {
  for (const [at, { name }] of cases(new HostileRegistry()).entries())
    test(`with ${name} leaves neither upload nor manifest`, async (t) => {
      const registry = await HostileRegistry.start(t);
      const failing = cases(registry)[at];
      assert.ok(failing);
      registry.trouble = (request, response) =>
        failing.fits(request.method ?? '', pathOf(request)) ? failing.problem(request, response) : undefined;
      const { chunkBytes, error } = failing;
      await assert.rejects(
        pushImage(clientOf(t, registry), memoryImage([layer]), { chunkBytes, tag: 'v1' }),
        error,
      );
      assert.equal(registry.uploads.size, 0, registry.log.join('\n'));
      assert.equal(registry.manifests.size, 0);
      const starts = registry.log.filter((line) => line.startsWith('POST')).length;
      assert.equal(starts, failing.starts);
    });

  for (const chunkBytes of [chunked, whole])
    test(`an interrupt in an endless body of ${chunkBytes} bytes at most cancels the upload`, async (t) => {
      const registry = await HostileRegistry.start(t);
      const interruption = new AbortController();
      registry.trouble = (request) => {
        if (request.method !== (chunkBytes === chunked ? 'PATCH' : 'PUT')) return undefined;
        request.resume();
        interruption.abort(new Error('interrupted by SIGINT'));
        return true;
      };
      const client = openRegistry({
        ...{ origin: registry.origin, repository: 'team/stemcell', credentials: undefined, ca: undefined },
        ...{ clock: systemClock, signal: interruption.signal, graceMs: 20 },
      });
      t.after(() => client.close());
      await assert.rejects(pushImage(client, memoryImage([layer]), { chunkBytes }), /interrupted by SIGINT/u);
      assert.deepEqual(
        registry.log.filter((line) => line.startsWith('DELETE')).length,
        1,
        registry.log.join('\n'),
      );
      assert.equal(registry.uploads.size, 0);
      assert.equal(registry.manifests.size, 0);
    });

  test('an upload for chunks is cancelled if the registry accepts no chunks', async (t) => {
    const registry = await HostileRegistry.start(t);
    registry.acceptsChunks = false;
    await pushImage(clientOf(t, registry), memoryImage([layer]), { chunkBytes: chunked });
    assert.equal(registry.uploads.size, 0);
    assert.equal(registry.manifests.size, 1);
  });

  test('an upload that a mount began is cancelled if the next mount fails', async (t) => {
    const registry = await HostileRegistry.start(t);
    registry.trouble = (request, response) =>
      request.url?.includes('from=sick') === true
        ? refused(429, { 'retry-after': '3600' })(request, response)
        : undefined;
    const mountFrom = ['none', 'sick', 'none-2'];
    await pushImage(clientOf(t, registry), memoryImage([layer]), { chunkBytes: chunked, mountFrom });
    assert.equal(registry.uploads.size, 0);
    assert.equal(registry.manifests.size, 1);
    registry.manifests.clear();
    registry.owners.clear();
    registry.trouble = (request) => {
      if (request.url?.includes('from=sick') === true) request.socket.destroy();
      return request.socket.destroyed;
    };
    await assert.rejects(
      pushImage(clientOf(t, registry), memoryImage([layer]), { chunkBytes: chunked, mountFrom }),
      { code: 'REGISTRY_UNREACHABLE' },
    );
    assert.equal(registry.uploads.size, 0);
  });
});

const pathOf = ({ url }: IncomingMessage): string => url ?? '';

function clientOf(t: TestContext, { origin }: HostileRegistry): RegistryClient {
  const client = new RegistryClient({
    ...{ origin, repository: 'team/stemcell', credentials: undefined },
    transport: new NodeTransport({ ca: undefined, idleMs: 60_000, signal: undefined }),
    now: () => 0,
    sleep: async () => undefined,
    random: () => 0,
  });
  t.after(() => client.close());
  return client;
}
