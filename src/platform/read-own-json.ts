import type { ProductError } from '../errors/product-error.ts';
import { Field } from './field.ts';
import { readOwnFile } from './read-file.ts';

/**
 * Reads a JSON file that only this user can have written. Returns undefined if there is no file. Rejects with
 * FILE_NOT_TRUSTED if it is a link or belongs to another user. If it is not JSON, or if `parse` finds a wrong
 * value, rejects with the error of `invalid`, which gets the problem as a part of a sentence.
 */
export async function readOwnJson<T>(
  path: string,
  parse: (document: Field) => T,
  invalid: (problem: string, cause?: unknown) => ProductError,
): Promise<T | undefined> {
  const text = await readOwnFile(path);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid('it is not JSON', error);
  }
  const document = new Field(value, '', (key, problem) => invalid(`${key === '' ? 'it' : key} ${problem}`));
  return parse(document);
}
