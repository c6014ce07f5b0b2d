import { canonicalAddress, familyOf } from '../../kubernetes/ip-text.ts';
import type { JsonObject } from '../json.ts';
import { isObject } from '../json.ts';

/** Returns the addresses of an ADD result, in canonical form and without prefix length. */
export function resultAddresses({ ips }: JsonObject): readonly string[] {
  if (!Array.isArray(ips)) return [];
  return (ips as unknown[]).flatMap((entry) => {
    const address = isObject(entry) ? entry['address'] : undefined;
    const [bare = ''] = typeof address === 'string' ? address.split('/') : [];
    return familyOf(bare) === undefined ? [] : [canonicalAddress(bare)];
  });
}
