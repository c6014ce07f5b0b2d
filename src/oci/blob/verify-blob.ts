import { createHash } from 'node:crypto';
import { ProductError } from '../../errors/product-error.ts';
import type { Descriptor } from '../image-source.ts';

/**
 * Passes the bytes on and ends with DIGEST_MISMATCH, naming `what`, if they do not match the descriptor.
 * Surplus bytes are rejected before they are passed on.
 */
export async function* verifyBlob(
  source: AsyncIterable<Uint8Array>,
  { digest, size }: Descriptor,
  what: string,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of source) {
    length += chunk.length;
    if (length > size) throw mismatch(`${what} is longer than the ${size} bytes that its descriptor says`);
    hash.update(chunk);
    yield chunk;
  }
  if (length < size) throw mismatch(`${what} ends after ${length} of ${size} bytes`);
  const found = `sha256:${hash.digest('hex')}`;
  if (found !== digest) throw mismatch(`${what} has the digest ${found} instead of ${digest}`);
}

const mismatch = (message: string): ProductError => new ProductError('DIGEST_MISMATCH', message);
