import { readFile } from 'node:fs/promises';
import { ProductError } from '../../errors/product-error.ts';

/** Reads a file that a flag names. Rejects with DRIVER_CONFIG_INVALID if it cannot be read. */
export async function readPem(flag: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ProductError('DRIVER_CONFIG_INVALID', `'${path}' of -${flag} cannot be read`, { cause: error });
  }
}
