import { createHash } from 'node:crypto';
import { ProductError } from '../errors/product-error.ts';
import type { Descriptor } from './image-source.ts';
import { openForReading, type OpenOptions } from '../bosh/archive/open-for-reading.ts';
import { isObject } from '../platform/json.ts';

/**
 * Passes the bytes on and ends with DIGEST_MISMATCH, naming `label`, if they do not match the descriptor.
 * Surplus bytes are rejected before they are passed on.
 */
export async function* verifyBlob(
  source: AsyncIterable<Uint8Array>,
  { digest, size }: Descriptor,
  label: string,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of source) {
    length += chunk.length;
    if (length > size) throw mismatch(`${label} is longer than the ${size} bytes in its descriptor`);
    hash.update(chunk);
    yield chunk;
  }
  if (length < size) throw mismatch(`${label} ends after ${length} of ${size} bytes`);
  const actual = `sha256:${hash.digest('hex')}`;
  if (actual !== digest) throw mismatch(`${label} has the digest ${actual} instead of ${digest}`);
}

const mismatch = (message: string): ProductError => new ProductError('DIGEST_MISMATCH', message);

/**
 * Reads the bytes of a file into one buffer, which is reused: a chunk is valid until the next one is
 * requested. Streams of the runtime allocate each chunk, and hundreds of megabytes of them accumulate before
 * they are collected. FILE_NOT_FOUND names a file that cannot be read.
 */
export async function* readFileBlob(
  path: string,
  chunkSize = 1 << 18,
  options: OpenOptions = {},
): AsyncGenerator<Uint8Array> {
  await using file = await openForReading(path, options);
  const buffer = Buffer.allocUnsafe(chunkSize);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, chunkSize, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

/**
 * Parses a descriptor (image-spec, descriptor.md). IMAGE_INVALID names `subject`. Digests other than SHA-256
 * are rejected.
 */
export function parseDescriptor(value: unknown, subject: string): Descriptor {
  const { mediaType, digest, size } = isObject(value) ? value : {};
  if (typeof mediaType !== 'string') throw imageInvalid(`${subject} has no mediaType`);
  if (typeof digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(digest))
    throw imageInvalid(`${subject} has no digest of the form sha256:<64 hex digits>`);
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw imageInvalid(`${subject} has no size in bytes`);
  return { mediaType, digest, size };
}

/** Parses a JSON object. IMAGE_INVALID names `label`. */
export function parseObject(bytes: Uint8Array, label: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw imageInvalid(`${label} is not JSON`, error);
  }
  if (!isObject(value)) throw imageInvalid(`${label} is not a JSON object`);
  return value;
}

/** Returns the error for bytes that are not a valid OCI image. */
export function imageInvalid(message: string, cause?: unknown): ProductError {
  return new ProductError('IMAGE_INVALID', message, { cause });
}
