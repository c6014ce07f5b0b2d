import { ProductError } from '../../errors/product-error.ts';
import type { Descriptor } from '../image-source.ts';

/** Returns true for a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Parses a descriptor (image-spec, descriptor.md). IMAGE_INVALID names `subject`. Digests other than SHA-256
 * are rejected.
 */
export function parseDescriptor(value: unknown, subject: string): Descriptor {
  const { mediaType, digest, size } = isRecord(value) ? value : {};
  if (typeof mediaType !== 'string') throw imageInvalid(`${subject} has no mediaType`);
  if (typeof digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(digest))
    throw imageInvalid(`${subject} has no digest of the form sha256:<64 hex digits>`);
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw imageInvalid(`${subject} has no size in bytes`);
  return { mediaType, digest, size };
}

/** Parses a JSON object. IMAGE_INVALID names `what`. */
export function parseObject(bytes: Uint8Array, what: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw imageInvalid(`${what} is not JSON`, error);
  }
  if (!isRecord(value)) throw imageInvalid(`${what} is not a JSON object`);
  return value;
}

/** Returns the error for bytes that are not a valid OCI image. */
export function imageInvalid(message: string, cause?: unknown): ProductError {
  return new ProductError('IMAGE_INVALID', message, { cause });
}
