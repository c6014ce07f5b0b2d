import type { StemcellDescription } from './stemcell-description.ts';

/**
 * Returns the tag of a stemcell's manifest. It is for people, and keeps registries that collect untagged
 * manifests from deleting it. Its last part makes it unique, and it is a valid tag by distribution-spec (128
 * characters of a few kinds).
 */
export function stemcellTag({ name, version }: StemcellDescription, id: string): string {
  const words = `${name}-${version}`.replaceAll(/[^A-Za-z0-9_.-]+/gu, '-').replace(/^[.-]+/u, '');
  return `${words.slice(0, 128 - 1 - id.length)}-${id}`.replace(/^-/u, '');
}
