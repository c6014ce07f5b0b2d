import { readImageReference } from '../../oci/image-reference.ts';
import type { Json, Place } from '../input.ts';
import { at, optionalStringAt, wrong } from '../input.ts';

/**
 * The image that the cloud_properties of a light stemcell name; undefined for those of a heavy one, which name no image.
 * Other keys (name, version, architecture, …) describe it and are not read.
 */
export function lightImage(properties: Json, place: Place): string | undefined {
  const image = optionalStringAt(properties['image_reference'], at(place, 'image_reference'));
  if (image === undefined) return undefined;
  const parts = imageParts(image, at(place, 'image_reference'));
  const digest = digestAt(properties['digest'], at(place, 'digest'));
  if (digest !== undefined && parts.digest !== undefined && digest !== parts.digest) {
    throw wrong(at(place, 'digest'), `is not the digest in image_reference: ${digest} and ${parts.digest}`);
  }
  const pinned = digest ?? parts.digest;
  return pinned === undefined ? image : `${parts.name}@${pinned}`;
}

/** Name and digest of an image reference; throws when it is none. */
export function imageParts(image: string, place: Place): { name: string; digest: string | undefined } {
  const parts = readImageReference(image);
  if (parts === undefined) throw wrong(place, 'is not an image reference such as registry/name:tag');
  return { name: parts.name, digest: parts.digest };
}

function digestAt(value: unknown, place: Place): string | undefined {
  const digest = optionalStringAt(value, place);
  if (digest !== undefined && !/^sha256:[0-9a-f]{64}$/u.test(digest)) {
    throw wrong(place, 'has to be sha256: and 64 hexadecimal digits');
  }
  return digest;
}
