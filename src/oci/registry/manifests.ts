import { createHash } from 'node:crypto';
import { ProductError } from '../../errors/product-error.ts';
import { mediaTypes } from '../image-source.ts';
import { bytesBody } from './http/registry-transport.ts';
import type { RegistryClient, RepositoryRequest } from './registry-client.ts';
import { errorCodes } from './registry-error.ts';

export interface NewManifest {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  /** A tag, or the digest. */
  readonly reference: string;
}

/** Publishes a manifest; its blobs must exist. Idempotent. Returns its digest. */
export async function putManifest(client: RegistryClient, manifest: NewManifest): Promise<string> {
  const digest = sha256(manifest.bytes);
  const request: RepositoryRequest = {
    method: 'PUT',
    path: `manifests/${manifest.reference}`,
    headers: { 'content-type': manifest.mediaType },
    body: bytesBody(manifest.bytes),
    operation: `manifest ${manifest.reference}`,
  };
  const answer = await client.request(request);
  if (answer.status !== 201) throw client.error(answer, request.operation);
  const stored = answer.headers['docker-content-digest'];
  if (stored !== undefined && stored !== digest)
    throw mismatch(client, `stored the manifest as ${stored.slice(0, 100)} instead of ${digest}`);
  return digest;
}

/** Returns the bytes of a manifest, verified; undefined if it does not exist. */
export async function getManifest(client: RegistryClient, digest: string): Promise<Buffer | undefined> {
  const request: RepositoryRequest = {
    method: 'GET',
    path: `manifests/${digest}`,
    headers: { accept: Object.values(mediaTypes).join(', ') },
    actions: 'pull',
    operation: `manifest ${digest}`,
  };
  const answer = await client.request(request);
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw client.error(answer, request.operation);
  const actual = sha256(answer.body);
  if (actual !== digest) throw mismatch(client, `sent the manifest ${actual} instead of ${digest}`);
  return answer.body;
}

/** `refused`: the registry does not allow deletion at all. */
export type Deletion = 'deleted' | 'absent' | 'refused';

/**
 * Deletes a manifest by its digest, and with it its tags. The registry's garbage collection removes the
 * blobs.
 */
export async function deleteManifest(client: RegistryClient, digest: string): Promise<Deletion> {
  const request: RepositoryRequest = {
    method: 'DELETE',
    path: `manifests/${digest}`,
    actions: 'pull,delete',
    operation: `deletion of manifest ${digest}`,
  };
  const answer = await client.request(request);
  if (answer.status === 202 || answer.status === 200 || answer.status === 204) return 'deleted';
  if (answer.status === 404) return 'absent';
  const isUnsupported = answer.status === 400 && errorCodes(answer).includes('UNSUPPORTED');
  if (answer.status === 405 || isUnsupported) return 'refused';
  throw client.error(answer, request.operation);
}

const sha256 = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

function mismatch({ host, repository }: RegistryClient, message: string): ProductError {
  return new ProductError('DIGEST_MISMATCH', `registry ${host}, repository ${repository}: it ${message}`);
}
