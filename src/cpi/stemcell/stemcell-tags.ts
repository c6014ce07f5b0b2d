import type { Location } from '../input.ts';
import { recordAt } from '../input.ts';

const domain = 'bosh.cloudfoundry.org/tags.';

/**
 * Returns the annotations of a stemcell's manifest that keep the tags of create_stemcell's env. Their names
 * differ from those of the CPI and of the image format. Throws INVALID_ARGUMENT for a value that is not an
 * object.
 */
export function stemcellTags(given: unknown): Record<string, string> {
  const place: Location = { code: 'INVALID_ARGUMENT', path: 'create_stemcell.env.tags' };
  const tags = Object.entries(recordAt(given, place)).map(
    ([key, value]) => [`${domain}${key}`, typeof value === 'string' ? value : JSON.stringify(value)] as const,
  );
  return Object.fromEntries(tags);
}
