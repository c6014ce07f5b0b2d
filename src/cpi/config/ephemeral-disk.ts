import type { Location } from '../input.ts';
import { child, optionalStringAt, positiveIntegerAt, recordAt, rejectUnknownKeys } from '../input.ts';

export interface EphemeralDisk {
  readonly sizeMiB: number;
  /** The storage class of the claim. Undefined: the VM uses the node's own disk. */
  readonly storageClass: string | undefined;
}

/** Parses `{size: MiB, storage_class: name}`; either key may be absent. */
export function parseEphemeralDisk(value: unknown, place: Location, defaults: EphemeralDisk): EphemeralDisk {
  const disk = recordAt(value, place);
  rejectUnknownKeys(disk, ['size', 'storage_class'], place);
  const size = disk['size'] ?? undefined;
  return {
    sizeMiB: size === undefined ? defaults.sizeMiB : positiveIntegerAt(size, child(place, 'size')),
    storageClass:
      optionalStringAt(disk['storage_class'], child(place, 'storage_class')) ?? defaults.storageClass,
  };
}
