import { CsiError } from '../grpc/csi-error.ts';
import type { CapacityRange } from '../grpc/messages.ts';

const mebibyte = 1024 * 1024;
/** About the minimum for ext4 with a journal. */
const smallest = 16 * mebibyte;
const largest = 64 * 1024 * 1024 * mebibyte;

/**
 * Returns the size in bytes of a new or grown volume: the required size in whole MiB, at least `floor`.
 * Throws OUT_OF_RANGE if that is not possible.
 */
export function capacityOf(range: CapacityRange | null | undefined, floor = 0): number {
  const required = bytes(range?.requiredBytes);
  const limit = bytes(range?.limitBytes);
  if (required < 0 || limit < 0) throw new CsiError('INVALID_ARGUMENT', 'a capacity is negative');
  const capacity = Math.max(Math.ceil(required / mebibyte) * mebibyte, smallest, floor);
  if (capacity > largest || (limit > 0 && capacity > limit)) {
    throw new CsiError(
      'OUT_OF_RANGE',
      `no volume of ${required} to ${limit || largest} bytes: it would take ${capacity}`,
    );
  }
  return capacity;
}

/** Returns true if the size of an existing volume matches the request. */
export function isInRange(capacity: number, range: CapacityRange | null | undefined): boolean {
  const limit = bytes(range?.limitBytes);
  return capacity >= bytes(range?.requiredBytes) && (limit === 0 || capacity <= limit);
}

/** Converts int64 as text to a number. A value beyond 2^53 is above every limit anyway. */
function bytes(value: string | number | undefined): number {
  return Number(value ?? 0);
}
