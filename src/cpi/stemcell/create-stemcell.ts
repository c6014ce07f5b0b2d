import { ProductError } from '../../errors/product-error.ts';
import type { Cloud } from '../cloud.ts';
import type { Place } from '../input.ts';
import { at, optionalStringAt, recordAt, stringAt, wrong } from '../input.ts';

/** distribution's reference grammar, less the length rules (github.com/distribution/reference). */
const reference =
  /^(?<name>[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]+)?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)(?<tag>:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@(?<digest>sha256:[0-9a-f]{64}))?$/u;

/**
 * create_stemcell(image_path, cloud_properties[, env]): for a light stemcell (`docker-light`) the image reference,
 * pinned by the digest where one is known. Nothing is made: nodes pull the image themselves and check the digest.
 * The same stemcell gives the same cid. Heavy stemcells: NOT_SUPPORTED.
 */
export async function createStemcell(_cloud: Cloud, args: readonly unknown[]): Promise<string> {
  const place: Place = { code: 'INVALID_ARGUMENT', path: 'create_stemcell' };
  stringAt(args[0], at(place, 'image_path'));
  recordAt(args[2], at(place, 'env'));
  return stemcellCid(args[1], at(place, 'cloud_properties'));
}

/** The cid for the cloud_properties of a stemcell. Other keys (name, version, …) describe it and are not read. */
export function stemcellCid(cloudProperties: unknown, place: Place): string {
  const properties = recordAt(cloudProperties, place);
  const image = optionalStringAt(properties['image_reference'], at(place, 'image_reference'));
  if (image === undefined) {
    throw new ProductError(
      'NOT_SUPPORTED',
      `${place.path} has no image_reference: only light stemcells (stemcell format docker-light) can be used; ` +
        'a heavy one has to be pushed to a registry first',
    );
  }
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
  const groups = reference.exec(image)?.groups;
  const name = groups?.['name'];
  if (name === undefined) throw wrong(place, 'is not an image reference such as registry/name:tag');
  return { name, digest: groups?.['digest'] };
}

function digestAt(value: unknown, place: Place): string | undefined {
  const digest = optionalStringAt(value, place);
  if (digest !== undefined && !/^sha256:[0-9a-f]{64}$/u.test(digest)) {
    throw wrong(place, 'has to be sha256: and 64 hexadecimal digits');
  }
  return digest;
}
