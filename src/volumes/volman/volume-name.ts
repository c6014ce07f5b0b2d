import { ProductError } from '../../errors/product-error.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';

/** The volume id and the container that a volume is for. */
export interface VolumeOwner {
  readonly volumeId: string;
  readonly containerId: string;
}

/**
 * Returns the name of a volume for its driver. If the driver has a separate volume for each container, the
 * name is the two ids with `_` between them, and `=` instead of each `_` in them
 * (code.cloudfoundry.org/dockerdriver/utils). Throws VOLUME_MOUNT_INVALID if it is not a valid file name,
 * because drivers create directories with it.
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
