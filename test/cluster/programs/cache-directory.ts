import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/**
 * Returns a directory outside of the checkout, so that all checkouts of a user share one cache (XDG base
 * directory specification).
 */
export function cacheDirectory(name: string, environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CACHE_HOME: given = '', HOME: home = '' } = environment;
  const base = isAbsolute(given) ? given : join(home === '' ? homedir() : home, '.cache');
  return join(base, 'bosh-kubernetes', name);
}
