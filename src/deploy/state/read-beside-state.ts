import type { ProductError } from '../../errors/product-error.ts';
import { readOwnFile } from '../../platform/read-file.ts';

/**
 * The JSON of a file that the deployer keeps beside the state file; undefined when there is none, and FILE_NOT_TRUSTED when it is
 * a link or another user's. Throws what `invalid` makes of a file that is not JSON or that `isValid` refuses.
 */
export async function readBesideState<T>(
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
