import type { ProductError } from '../../../errors/product-error.ts';
import { isProductError } from '../../../errors/product-error.ts';
import type { RegistryAnswer } from '../http/registry-transport.ts';
import type { Setback } from '../http/retry-delay.ts';
import type { Call, RegistryClient } from '../registry-client.ts';

/** An upload that the registry has begun. */
export interface Upload {
  location: URL;
  /** The smallest piece but the last that the registry takes; absent: any. */
  readonly smallestPiece: number | undefined;
}

/** The registry does not know the upload any more, or nobody knows how far it is. */
export interface LostUpload {
  readonly kind: 'lost';
  readonly error: ProductError;
  readonly setback: Setback;
}

/** How an upload ended. */
export type UploadOutcome =
  | { readonly kind: 'done' }
  | LostUpload
  | { readonly kind: 'takes no pieces'; readonly error: ProductError };

/** Begins an upload. */
export async function startUpload(client: RegistryClient, digest: string): Promise<Upload> {
  const call: Call = { method: 'POST', path: 'blobs/uploads/', what: `upload of ${digest}` };
  const answer = await client.call(call);
  if (answer.status !== 202) throw client.error(answer, call.what);
  return uploadOf(client, answer, call);
}

/**
 * Makes a blob of another repository one of ours, if it has it and we may read it; else an upload has begun, or the registry
 * would not hear of it: a user who may not read the other repository may still push to this one.
 */
export async function mountBlob(
  client: RegistryClient,
  digest: string,
  from: string,
): Promise<Upload | 'mounted' | 'refused'> {
  const call: Call = {
    method: 'POST',
    path: `blobs/uploads/?mount=${digest}&from=${encodeURIComponent(from)}`,
    what: `mount of ${digest} from ${from}`,
    from,
  };
  try {
    const answer = await client.call(call);
    if (answer.status === 201) return 'mounted';
    return answer.status === 202 ? uploadOf(client, answer, call) : 'refused';
  } catch (error) {
    // a token for both repositories is refused as a whole, or holds less than was asked for
    if (!isProductError(error, 'REGISTRY_UNAUTHORIZED')) throw error;
    return 'refused';
  }
}

function uploadOf(client: RegistryClient, answer: RegistryAnswer, call: Call): Upload {
  const smallest = answer.headers['oci-chunk-min-length'] ?? '';
  return {
    location: client.location(answer, call),
    smallestPiece: /^\d{1,12}$/u.test(smallest) ? Number(smallest) : undefined,
  };
}

/** The URL that completes an upload. The registry's own query may be signed, so that it is left byte by byte as it is. */
export function withDigest(location: URL, digest: string): URL {
  const url = new URL(location);
  const parameter = `digest=${encodeURIComponent(digest)}`;
  url.search = url.search === '' ? parameter : `${url.search}&${parameter}`;
  return url;
}

/**
 * Takes an upload back, also when the caller has gone. A registry that cannot, does not answer or does not let us forgets it by
 * itself after a while; that is no reason to fail, nor to hide why it is taken back.
 */
export async function cancelUpload(client: RegistryClient, { location }: Upload): Promise<void> {
  try {
    // distribution wants the right to delete for it
    const actions = 'pull,delete';
    await client.requestForCleanup({ method: 'DELETE', path: location, actions, what: 'end of an upload' });
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === 'TimeoutError';
    if (!isLate && !(isProductError(error) && error.code.startsWith('REGISTRY_'))) throw error;
  }
}
