import { readFile } from 'node:fs/promises';
import { fromJson } from '../bosh/yaml/exact-json.ts';

/**
 * Reads a JSON file that is only a cache. Returns undefined if it is missing or corrupt; the caller then
 * computes everything again.
 */
export async function readJsonCache(path: string): Promise<unknown> {
  try {
    return fromJson(await readFile(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
