import { parseImageReference } from '../../oci/image-reference.ts';
import type { Field } from '../../platform/field.ts';

/** The architecture as it is named in images and in the nodes' label kubernetes.io/arch. */
export type Architecture = 'amd64' | 'arm64';

/**
 * A stemcell's cid: `<image>#<architecture>`, or only the image if its architecture is not known, as for
 * every stemcell of an earlier CPI. No image reference has a `#`.
 */
export interface StemcellCid {
  readonly image: string;
  readonly architecture: Architecture | undefined;
}

export const formatStemcellCid = ({ image, architecture }: StemcellCid): string =>
  architecture === undefined ? image : `${image}#${architecture}`;

/**
 * Parses a cid. Throws for a text that is not an image reference, or names an architecture that stemcells are
 * not for.
 */
export function parseStemcellCid(field: Field): StemcellCid {
  const [image = '', word, ...more] = field.nonEmptyString().split('#');
  parseImage(image, field);
  if (word === undefined) return { image, architecture: undefined };
  if ((word !== 'amd64' && word !== 'arm64') || more.length > 0) {
    throw field.error('must end with #amd64 or #arm64, or name no architecture');
  }
  return { image, architecture: word };
}

/**
 * Reads `architecture` of cloud_properties, which for warden stemcells is x86_64
 * (bosh-linux-stemcell-builder).
 */
export function architectureIn(value: unknown): Architecture | undefined {
  if (value === 'amd64' || value === 'x86_64') return 'amd64';
  return value === 'arm64' || value === 'aarch64' ? 'arm64' : undefined;
}

/** Returns name and digest of an image reference; throws the error of `field` if the text is not one. */
export function parseImage(image: string, field: Field): { name: string; digest: string | undefined } {
  const parts = parseImageReference(image);
  if (parts === undefined) throw field.error('is not an image reference such as registry/name:tag');
  return { name: parts.name, digest: parts.digest };
}
