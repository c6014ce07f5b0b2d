import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { pins } from './pins.ts';
import { goModule, programs } from './programs.ts';

/** Directory of the programs of these pins, outside the checkout: one cache serves all checkouts of a user. */
export function programCache(environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CACHE_HOME: given = '', HOME: home = '' } = environment;
  const base = isAbsolute(given) ? given : join(home === '' ? homedir() : home, '.cache');
  const key = createHash('sha256').update(JSON.stringify({ pins, goModule, programs, arch: process.arch }));
  return join(base, 'bosh-kubernetes', 'programs', key.digest('hex').slice(0, 16));
}
