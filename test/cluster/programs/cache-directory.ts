import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** A folder outside of the checkout: one cache serves all checkouts of a user (XDG base directory specification). */
export function cacheDirectory(name: string, environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CACHE_HOME: given = '', HOME: home = '' } = environment;
  const base = isAbsolute(given) ? given : join(home === '' ? homedir() : home, '.cache');
  return join(base, 'bosh-kubernetes', name);
}
