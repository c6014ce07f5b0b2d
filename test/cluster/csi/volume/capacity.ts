import { CsiError } from '../grpc/csi-error.ts';
import type { CapacityRange } from '../grpc/messages.ts';

const mebibyte = 1024 * 1024;
/** ext4 with a journal needs about that much. */
const smallest = 16 * mebibyte;
const largest = 64 * 1024 * 1024 * mebibyte;

/** Bytes of a new or grown volume: what is required, in whole MiB, at least `floor`. OUT_OF_RANGE where that cannot be. Pure. */
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

/** True where an existing volume is one that was asked for. Pure. */
export function isInRange(capacity: number, range: CapacityRange | null | undefined): boolean {
  const limit = bytes(range?.limitBytes);
  return capacity >= bytes(range?.requiredBytes) && (limit === 0 || capacity <= limit);
}

/** int64 as text; beyond 2^53 it is above every limit anyway. */
function bytes(value: string | number | undefined): number {
  return Number(value ?? 0);
}
