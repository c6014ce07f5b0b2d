import type { StemcellRecord } from '../state/deployment-state.ts';

/** What tells a stemcell from others. */
export interface StemcellIdentity {
  readonly name: string;
  readonly version: string;
  readonly cloudProperties: Readonly<Record<string, unknown>>;
}

/**
 * The image that a light stemcell names (`image_reference` and `digest` of its cloud_properties), without a
 * tag where a digest tells which image it is; undefined for a heavy one.
 */
export function stemcellImage({ cloudProperties }: StemcellIdentity): string | undefined {
  const { image_reference: reference, digest } = cloudProperties;
  if (typeof reference !== 'string') return undefined;
  if (typeof digest !== 'string') return reference;
  return `${reference.replace(/(?::[^:/@]+)?(?:@[^@]+)?$/u, '')}@${digest}`;
}

/**
 * Whether a record is of that stemcell. A record that names no image, as the bosh CLI writes it, is told by
 * name and version.
 */
export function isSameStemcell(record: StemcellRecord, stemcell: StemcellIdentity): boolean {
  return (
    record.name === stemcell.name &&
    record.version === stemcell.version &&
    (record.image === undefined || record.image === stemcellImage(stemcell))
  );
}
