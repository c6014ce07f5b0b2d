import { realpath, stat } from 'node:fs/promises';
import { errorCode } from './error-code.ts';

/** Resolves all symbolic links of a path. Returns undefined if the path is not a directory. */
export async function realFolder(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : undefined;
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}
