import { parseImageReference } from '../../oci/image-reference.ts';
import type { Json, Location } from '../input.ts';
import { child, optionalStringAt, invalidValue } from '../input.ts';

/**
 * Returns the image that the cloud_properties of a light stemcell name; undefined for those of a heavy one,
 * which name no image. Other keys (name, version, architecture, …) describe the image and are not read.
 */
export function lightImage(properties: Json, place: Location): string | undefined {
  const image = optionalStringAt(properties['image_reference'], child(place, 'image_reference'));
  if (image === undefined) return undefined;
  const parts = imageParts(image, child(place, 'image_reference'));
  const digest = digestAt(properties['digest'], child(place, 'digest'));
  if (digest !== undefined && parts.digest !== undefined && digest !== parts.digest) {
    throw invalidValue(
      child(place, 'digest'),
      `is not the digest in image_reference: ${digest} and ${parts.digest}`,
    );
  }
  const pinned = digest ?? parts.digest;
  return pinned === undefined ? image : `${parts.name}@${pinned}`;
}

/** Returns name and digest of an image reference; throws if the text is not one. */
export function imageParts(image: string, place: Location): { name: string; digest: string | undefined } {
  const parts = parseImageReference(image);
  if (parts === undefined) throw invalidValue(place, 'is not an image reference such as registry/name:tag');
  return { name: parts.name, digest: parts.digest };
}

function digestAt(value: unknown, place: Location): string | undefined {
  const digest = optionalStringAt(value, place);
  if (digest !== undefined && !/^sha256:[0-9a-f]{64}$/u.test(digest)) {
    throw invalidValue(place, 'has to be sha256: and 64 hexadecimal digits');
  }
  return digest;
}
