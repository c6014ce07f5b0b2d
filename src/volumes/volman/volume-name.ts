import { ProductError } from '../../errors/product-error.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';

/** Of whom a volume is. */
export interface VolumeOwner {
  readonly volumeId: string;
  readonly containerId: string;
}

/**
 * The name of a volume at its driver. Where the driver has a volume for each container, `_` stands between
 * the two ids and for itself has `=` (code.cloudfoundry.org/dockerdriver/utils). VOLUME_MOUNT_INVALID for
 * what cannot be a file's name: drivers make folders of it.
 */
export function volumeName({ volumeId, containerId }: VolumeOwner, isUnique: boolean): string {
  const half = (text: string): string => text.replaceAll('_', '=');
  const name = isUnique ? `${half(volumeId)}_${half(containerId)}` : volumeId;
  const parts = isUnique ? [volumeId, containerId, name] : [volumeId, name];
  if (parts.every((part) => parsePathSegment(part) !== undefined && !part.includes('..'))) return name;
  throw new ProductError(
    'VOLUME_MOUNT_INVALID',
    `volume id ${JSON.stringify(volumeId.slice(0, 80))} cannot name a folder: it is empty or too long, or has a slash, '..' or a ` +
      'control character; bind the app anew, with a broker that answers a plain volume_id',
  );
}
