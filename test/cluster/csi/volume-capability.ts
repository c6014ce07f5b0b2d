import { CsiError } from './grpc.ts';
import type { AccessModeName, VolumeCapability, CapacityRange } from './messages.ts';

/** Only one node at a time: two would be two kernels with a file system each on the same blocks. */
const supportedModes: readonly AccessModeName[] = [
  'SINGLE_NODE_WRITER',
  'SINGLE_NODE_READER_ONLY',
  'SINGLE_NODE_SINGLE_WRITER',
  'SINGLE_NODE_MULTI_WRITER',
];
const flagGrammar = /^[a-z][a-z0-9_]*(=[A-Za-z0-9_.:/-]+)?$/;

/** Returns why volumes of this driver cannot be used in this way, or undefined if they can. */
export function refusalOf(capability: VolumeCapability): string | undefined {
  const mode = capability.accessMode?.mode ?? 'UNKNOWN';
  if (capability.mount === undefined || capability.mount === null) {
    return 'the driver makes file systems only, no raw block volumes';
  }
  if (!supportedModes.includes(mode))
    return `access mode ${mode} is not supported: a volume is on one node at a time`;
  const type = capability.mount.fsType ?? '';
  if (type !== '' && type !== 'ext4') return `the driver makes ext4 only, not ${type}`;
  const flag = (capability.mount.mountFlags ?? []).find((each) => !flagGrammar.test(each));
  return flag === undefined ? undefined : `${JSON.stringify(flag)} is no mount option`;
}

/** Throws INVALID_ARGUMENT if `refusalOf` returns a reason, and if there are no capabilities. */
export function requireCapabilities(capabilities: readonly (VolumeCapability | null | undefined)[]): void {
  if (capabilities.length === 0) throw new CsiError('INVALID_ARGUMENT', 'a volume capability is missing');
  for (const capability of capabilities) {
    const refusal = capability ? refusalOf(capability) : 'a volume capability is missing';
    if (refusal !== undefined) throw new CsiError('INVALID_ARGUMENT', refusal);
  }
}

export function modeOf(capability: VolumeCapability | null | undefined): AccessModeName {
  return capability?.accessMode?.mode ?? 'UNKNOWN';
}

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
