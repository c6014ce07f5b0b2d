import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { RegistryCredentials } from '../access/authenticator.ts';
import { NodeTransport } from '../http/node-transport.ts';
import type { PushImageOptions } from '../push-image.ts';
import { RegistryClient } from '../registry-client.ts';
import { HostileRegistry } from './hostile-registry.ts';
import { memoryImage } from './memory-image.ts';

/** The pushed blobs: `layer` has several chunks, `small` only one. */
export const layer = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
export const small = Buffer.from('small');
export const chunkOptions: PushImageOptions = { chunkBytes: 16_000 };

/** A registry that a test can make fail, and its client. */
export interface Subject {
  readonly registry: HostileRegistry;
  readonly client: RegistryClient;
  /** The delays that the client requested, in milliseconds. */
  readonly pauses: number[];
}

/** Starts a registry and a client. The client does not wait; its delays are recorded. */
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

/** Applies a fault to the first `times` requests that match. Returns a function that counts the faults. */
export function faults(
  { registry }: Subject,
  times: number,
  fits: (line: string) => boolean,
  label: HostileRegistry['trouble'],
): () => number {
  let count = 0;
  registry.trouble = (request, response) => {
    if (count >= times || !fits(`${request.method ?? ''} ${request.url ?? ''}`)) return undefined;
    count += 1;
    return label(request, response) ?? true;
  };
  return () => count;
}

/** Asserts that the registry has the image with all its blobs, and no unfinished upload. */
export function assertWhole({ registry }: Subject, image = memoryImage([layer])): void {
  for (const blob of [...image.layers, image.config])
    assert.equal(registry.blobs.get(blob.digest)?.length, blob.size);
  assert.deepEqual(registry.manifests.get(image.descriptor.digest), image.manifest);
  assert.equal(registry.uploads.size, 0, 'no upload is left');
}
