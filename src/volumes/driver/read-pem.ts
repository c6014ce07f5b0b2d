import { readFile } from 'node:fs/promises';
import { ProductError } from '../../errors/product-error.ts';

/** The text of a file that a flag names. */
export async function readPem(flag: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ProductError('DRIVER_CONFIG_INVALID', `'${path}' of -${flag} cannot be read`, { cause: error });
  }
}
