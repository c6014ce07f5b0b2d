import type { Place } from '../input.ts';
import { at, optionalStringAt, positiveIntegerAt, recordAt, refuseUnknownKeys } from '../input.ts';

export interface EphemeralDisk {
  readonly sizeMiB: number;
  /** A claim of this class; absent: the node's own disk. */
  readonly storageClass: string | undefined;
}

/** `{size: MiB, storage_class: name}`, either absent. */
export function parseEphemeralDisk(value: unknown, place: Place, defaults: EphemeralDisk): EphemeralDisk {
  const disk = recordAt(value, place);
  refuseUnknownKeys(disk, ['size', 'storage_class'], place);
  const size = disk['size'] ?? undefined;
  return {
    sizeMiB: size === undefined ? defaults.sizeMiB : positiveIntegerAt(size, at(place, 'size')),
    storageClass:
      optionalStringAt(disk['storage_class'], at(place, 'storage_class')) ?? defaults.storageClass,
  };
}
