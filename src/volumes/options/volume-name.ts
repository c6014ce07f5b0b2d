import { ProductError } from '../../errors/product-error.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';

declare const brand: unique symbol;

/** The name of a volume. Joined to the mount directory, it is the path of one entry there. */
export type VolumeName = string & { readonly [brand]: 'VolumeName' };

/**
 * Maximum bytes. A file system allows 255, and a mounter adds a suffix for a directory of its own, such as
 * `_mapfs`.
 */
const maxBytes = 249;

/**
 * Parses the name in a request. Returns the error with the text of the old drivers. Names with a leading dot,
 * or with the suffix of a mounter's own directory, are reserved for these directories.
 */
export function parseVolumeName(name: unknown): { readonly name: VolumeName } | { readonly problem: string } {
  if (name === undefined || name === null || name === '')
    return { problem: "Missing mandatory 'volume_name'" };
  if (typeof name === 'string' && isVolumeName(name)) return { name };
  return { problem: `invalid volume name: ${JSON.stringify(name).slice(0, 100)}` };
}

const isVolumeName = (text: string): text is VolumeName =>
  !/^\.|\.\.|[/\\\p{Cc}]|_mapfs$/u.test(text) && text.isWellFormed() && Buffer.byteLength(text) <= maxBytes;

/**
 * Returns the volume id that a broker returned. Before it mounts, volman appends an underscore and the
 * container's id, and replaces each other underscore by `=`.
 */
export function volumeIdIn(name: VolumeName): string {
  const [first = '', second, ...others] = name.split('_');
  return second === undefined || others.length > 0 ? name : first.replaceAll('=', '_');
}

/** The volume id and the container that a volume is for. */
export interface VolumeKey {
  readonly volumeId: string;
  readonly containerId: string;
}

/**
 * Returns the name of a volume for its driver. If the driver has a separate volume for each container, the
 * name is the two ids with `_` between them, and `=` instead of each `_` in them
 * (code.cloudfoundry.org/dockerdriver/utils). Throws VOLUME_MOUNT_INVALID if it is not a valid file name,
 * because drivers create directories with it.
 */
export function volumeName({ volumeId, containerId }: VolumeKey, isUnique: boolean): string {
  const escapeUnderscores = (text: string): string => text.replaceAll('_', '=');
  const name = isUnique ? `${escapeUnderscores(volumeId)}_${escapeUnderscores(containerId)}` : volumeId;
  const parts = isUnique ? [volumeId, containerId, name] : [volumeId, name];
  if (parts.every((part) => parsePathSegment(part) !== undefined && !part.includes('..'))) return name;
  throw new ProductError(
    'VOLUME_MOUNT_INVALID',
    `volume id ${JSON.stringify(volumeId.slice(0, 80))} cannot name a directory: it is empty or too long, or has a slash, '..' or a ` +
      'control character; bind the app again, with a broker that returns a plain volume_id',
  );
}
