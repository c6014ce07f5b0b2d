import type { StemcellDescription } from './stemcell-description.ts';

/**
 * The tag of a stemcell's manifest: for people, and so that a registry which collects untagged manifests lets it live.
 * Unique by its last part, and a tag by distribution-spec (128 characters of a few kinds).
 */
export function stemcellTag({ name, version }: StemcellDescription, id: string): string {
  const words = `${name}-${version}`.replaceAll(/[^A-Za-z0-9_.-]+/gu, '-').replace(/^[.-]+/u, '');
  return `${words.slice(0, 128 - 1 - id.length)}-${id}`.replace(/^-/u, '');
}
