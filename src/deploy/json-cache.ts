import { readFile } from 'node:fs/promises';
import { fromJson } from '../bosh/yaml/exact-json.ts';

/** The JSON of a file that is only a cache: an absent or broken one is undefined, and all is worked out anew. */
export async function readJsonCache(path: string): Promise<unknown> {
  try {
    return fromJson(await readFile(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
