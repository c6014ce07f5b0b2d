import type { Location } from '../input.ts';
import { recordAt } from '../input.ts';

const domain = 'bosh.cloudfoundry.org/tags.';

/**
 * The annotations of a stemcell's manifest that keep the tags of create_stemcell's env, each under a name that no annotation of
 * ours or of the image format has. Throws INVALID_ARGUMENT for what is no object.
 */
export function stemcellTags(given: unknown): Record<string, string> {
  const place: Location = { code: 'INVALID_ARGUMENT', path: 'create_stemcell.env.tags' };
  const tags = Object.entries(recordAt(given, place)).map(
    ([key, value]) => [`${domain}${key}`, typeof value === 'string' ? value : JSON.stringify(value)] as const,
  );
  return Object.fromEntries(tags);
}
