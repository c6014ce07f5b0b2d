import type { ProductError } from '../errors/product-error.ts';
import { readOwnFile } from './read-file.ts';

/**
 * Reads a JSON file that only this user can have written. Returns undefined if there is no file. Rejects with
 * FILE_NOT_TRUSTED if it is a link or belongs to another user, and with the error of `invalid` if it is not JSON
 * or if `isValid` returns false.
 */
export async function readOwnJson<T>(
  path: string,
  isValid: (value: unknown) => value is T,
  invalid: (cause?: unknown) => ProductError,
): Promise<T | undefined> {
  const text = await readOwnFile(path);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(error);
  }
  if (!isValid(value)) throw invalid();
  return value;
}
