import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { RegistryCredentials } from '../access/credentials.ts';
import { NodeTransport } from '../http/node-transport.ts';
import type { PushImageOptions } from '../push-image.ts';
import { RegistryClient } from '../registry-client.ts';
import { HostileRegistry } from './hostile-registry.ts';
import { memoryImage } from './memory-image.ts';

/** What is pushed: of more pieces than one, and of one. */
export const layer = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
export const small = Buffer.from('small');
export const pieces: PushImageOptions = { pieceSize: 16_000 };

/** A registry that a test can set against a client, and the client. */
export interface Subject {
  readonly registry: HostileRegistry;
  readonly client: RegistryClient;
  /** Milliseconds that were waited. */
  readonly pauses: number[];
}

/** Its waits are none: they are counted. */
export async function subject(t: TestContext, credentials?: RegistryCredentials): Promise<Subject> {
  const registry = await HostileRegistry.start(t);
  const pauses: number[] = [];
  const client = new RegistryClient({
    origin: registry.origin,
    repository: 'team/stemcell',
    credentials,
    transport: new NodeTransport({ ca: undefined, idleMs: 60_000, signal: undefined }),
    now: () => 0,
    sleep: async (milliseconds) => {
      pauses.push(milliseconds);
    },
    random: () => 0,
  });
  t.after(() => client.close());
  return { registry, client, pauses };
}

/** Lets something go wrong the first `times` times that `fits`. */
export function troubles(
  { registry }: Subject,
  times: number,
  fits: (line: string) => boolean,
  what: HostileRegistry['trouble'],
): () => number {
  let count = 0;
  registry.trouble = (request, response) => {
    if (count >= times || !fits(`${request.method ?? ''} ${request.url ?? ''}`)) return undefined;
    count += 1;
    return what(request, response) ?? true;
  };
  return () => count;
}

/** The image is there with all its blobs, and nothing of the way there. */
export function assertWhole({ registry }: Subject, image = memoryImage([layer])): void {
  for (const blob of [...image.layers, image.config])
    assert.equal(registry.blobs.get(blob.digest)?.length, blob.size);
  assert.deepEqual(registry.manifests.get(image.descriptor.digest), image.manifest);
  assert.equal(registry.uploads.size, 0, 'no upload is left');
}
