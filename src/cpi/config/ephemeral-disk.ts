import type { Location } from '../input.ts';
import { child, optionalStringAt, positiveIntegerAt, recordAt, rejectUnknownKeys } from '../input.ts';

export interface EphemeralDisk {
  readonly sizeMiB: number;
  /** A claim of this class; absent: the node's own disk. */
  readonly storageClass: string | undefined;
}

/** `{size: MiB, storage_class: name}`, either absent. */
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
