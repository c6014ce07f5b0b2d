import { readFile } from 'node:fs/promises';
import type { ProductError } from '../../errors/product-error.ts';

/**
 * The JSON of a file that the deployer keeps beside the state file; undefined when there is none. Throws what `invalid` makes
 * of a file that is not JSON or that `isValid` refuses: cut, or written by somebody else.
 */
export async function readBesideState<T>(
  path: string,
  isValid: (value: unknown) => value is T,
  invalid: (cause?: unknown) => ProductError,
): Promise<T | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(error);
  }
  if (!isValid(value)) throw invalid();
  return value;
}
