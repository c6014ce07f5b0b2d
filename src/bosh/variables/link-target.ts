import { readlink, realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** As many as Linux follows. */
const mostLinks = 40;

/**
 * The file that a path names, however many symbolic links lie between, also when that file is not there yet; the path itself
 * where it is no link. For files that are replaced as a whole: renamed over a link, the new text would leave the old file
 * behind. Links that go round resolve with the path: who reads it gets ELOOP.
 */
export async function linkTarget(path: string): Promise<string> {
  let at = path;
  for (let links = 0; links <= mostLinks; links += 1) {
    const next = await readLink(at);
    if (next === undefined) return at;
    at = resolve(await realpath(dirname(at)), next);
  }
  return path;
}

async function readLink(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // EINVAL: something else than a link
    if (['EINVAL', 'ENOENT', 'ENOTDIR', 'ELOOP'].includes(String(code))) return undefined;
    throw error;
  }
}
