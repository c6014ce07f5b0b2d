import type { Location } from '../input.ts';
import { invalidValue } from '../input.ts';
import { imageParts } from './light-stemcell.ts';

/** As images and the nodes' label kubernetes.io/arch call it. */
export type Architecture = 'amd64' | 'arm64';

/**
 * A stemcell's cid: `<image>#<architecture>`, or the image alone where its architecture is not known, as for every stemcell
 * of an earlier CPI. No image reference has a `#`.
 */
export interface StemcellCid {
  readonly image: string;
  readonly architecture: Architecture | undefined;
}

export const formatStemcellCid = ({ image, architecture }: StemcellCid): string =>
  architecture === undefined ? image : `${image}#${architecture}`;

/** Throws for a text that is no image reference, or names an architecture that stemcells are not for. */
export function parseStemcellCid(cid: string, place: Location): StemcellCid {
  const [image = '', word, ...more] = cid.split('#');
  imageParts(image, place);
  if (word === undefined) return { image, architecture: undefined };
  if ((word !== 'amd64' && word !== 'arm64') || more.length > 0) {
    throw invalidValue(place, 'has to end with #amd64 or #arm64, or name no architecture');
  }
  return { image, architecture: word };
}

/** Of `architecture` in cloud_properties, which stemcells of warden give as x86_64 (bosh-linux-stemcell-builder). */
export function architectureIn(value: unknown): Architecture | undefined {
  if (value === 'amd64' || value === 'x86_64') return 'amd64';
  return value === 'arm64' || value === 'aarch64' ? 'arm64' : undefined;
}
