import type { StemcellRecord } from '../state/deployment-state.ts';

/** Distinguishes a stemcell from others. */
export interface StemcellIdentity {
  readonly name: string;
  readonly version: string;
  readonly cloudProperties: Readonly<Record<string, unknown>>;
}

/**
 * Returns the image that a light stemcell names (`image_reference` and `digest` of its cloud_properties),
 * without the tag if there is a digest. Returns undefined for a heavy stemcell.
 */
export function stemcellImage({ cloudProperties }: StemcellIdentity): string | undefined {
  const { image_reference: reference, digest } = cloudProperties;
  if (typeof reference !== 'string') return undefined;
  if (typeof digest !== 'string') return reference;
  return `${reference.replace(/(?::[^:/@]+)?(?:@[^@]+)?$/u, '')}@${digest}`;
}

/**
 * Returns true if the record belongs to the stemcell. A record without an image, as the bosh CLI writes it,
 * is compared by name and version.
 */
export function isSameStemcell(record: StemcellRecord, stemcell: StemcellIdentity): boolean {
  return (
    record.name === stemcell.name &&
    record.version === stemcell.version &&
    (record.image === undefined || record.image === stemcellImage(stemcell))
  );
}
