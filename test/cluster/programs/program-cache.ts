import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { cacheDirectory } from './cache-directory.ts';
import { pins } from './pins.ts';
import { goModule, programs } from './programs.ts';

/** Returns the directory of the programs with these pins. */
export function programCache(environment: NodeJS.ProcessEnv = process.env): string {
  const key = createHash('sha256').update(JSON.stringify({ pins, goModule, programs, arch: process.arch }));
  return join(cacheDirectory('programs', environment), key.digest('hex').slice(0, 16));
}
