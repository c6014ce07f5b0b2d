import { isRecord, parseObject } from '../../oci/blob.ts';

/**
 * An annotation in the manifest and the config of every image that create_stemcell has pushed, and of no
 * other.
 */
export const stemcellAnnotation = 'bosh.cloudfoundry.org/stemcell-id';

/** Returns whether create_stemcell made the manifest. IMAGE_INVALID if it is not a manifest. */
export function isOwnManifest(manifest: Buffer, what: string): boolean {
  const { annotations } = parseObject(manifest, what);
  return isRecord(annotations) && typeof annotations[stemcellAnnotation] === 'string';
}
