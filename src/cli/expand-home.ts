import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Expands `~` and `~/x` to paths in the home directory, for flags such as `--state=~/x` that no shell
 * expands.
 */
export function expandHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
}
