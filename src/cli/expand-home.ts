import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * `~` and `~/x` as paths in the home folder, for flags such as `--state=~/x` where no shell has put it in.
 */
export function expandHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
}
