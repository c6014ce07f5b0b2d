import type { ProductError } from '../../../errors/product-error.ts';
import { isProductError } from '../../../errors/product-error.ts';
import type { RegistryAnswer } from '../http/registry-transport.ts';
import type { Setback } from '../http/retry-delay.ts';
import type { Call, RegistryClient } from '../registry-client.ts';

/** An upload that the registry has started. */
export interface Upload {
  location: URL;
  /** The smallest chunk that the registry accepts, except for the last one; absent: any size. */
  readonly smallestPiece: number | undefined;
}

/** The registry does not know the upload any more, or its position is unknown. */
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

/** Starts an upload. */
export async function startUpload(client: RegistryClient, digest: string): Promise<Upload> {
  const call: Call = { method: 'POST', path: 'blobs/uploads/', what: `upload of ${digest}` };
  const answer = await client.call(call);
  if (answer.status !== 202) throw client.error(answer, call.what);
  return uploadOf(client, answer, call);
}

/**
 * Mounts a blob of another repository into this one, if that repository has it and the user may read it.
 * Otherwise the registry has started an upload, or has rejected the request: a user who may not read the
 * other repository may still push to this one.
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
    // The token server rejects a token for both repositories as a whole, or gives it fewer rights than
    // requested.
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

/**
 * Returns the URL that completes an upload. The registry's own query may be signed, so it is kept byte by
 * byte.
 */
export function withDigest(location: URL, digest: string): URL {
  const url = new URL(location);
  const parameter = `digest=${encodeURIComponent(digest)}`;
  url.search = url.search === '' ? parameter : `${url.search}&${parameter}`;
  return url;
}

/**
 * Cancels an upload, also after the caller's signal. If a registry cannot do that, does not respond or does
 * not allow it, it purges the upload by itself after a while. This must neither be an error nor hide the
 * reason of the cancellation.
 */
export async function cancelUpload(client: RegistryClient, { location }: Upload): Promise<void> {
  try {
    // distribution requires the right to delete for it.
    const actions = 'pull,delete';
    await client.requestForCleanup({ method: 'DELETE', path: location, actions, what: 'end of an upload' });
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === 'TimeoutError';
    if (!isLate && !(isProductError(error) && error.code.startsWith('REGISTRY_'))) throw error;
  }
}
