import { realpath } from 'node:fs/promises';
import { isProductError } from '../../../errors/product-error.ts';
import { readOwnFile } from '../../../platform/read-file.ts';
import type { SecretReference } from '../../signature/secret-reference.ts';
import { formatSecretReference, isBelowPrefix } from '../../signature/secret-reference.ts';
import { MountError } from '../mount/mount-error.ts';

/** Where secrets of signed volumes may be; a store without a prefix is not read. */
export interface SecretPlaces {
  /** A folder that only this user writes, with files of this user. */
  readonly filePrefix: string | undefined;
}

/** Reads the secret that a signed volume refers to. Rejects with MountError, which does not have it. */
export async function readSecret(reference: SecretReference, { filePrefix }: SecretPlaces): Promise<string> {
  const shown = formatSecretReference(reference);
  const fail = (why: string): MountError =>
    new MountError('SECRET_UNAVAILABLE', `the password ${shown} cannot be had: ${why}`);
  if (reference.store !== 'file') throw fail('this driver reads files only; ask the operator of the cells');
  if (filePrefix === undefined || !isBelowPrefix(reference, filePrefix))
    throw fail('it is not in the place that the driver reads (-secretFiles)');
  try {
    // a link in a folder on the way could lead to any file of root
    if ((await realpath(reference.name)) !== reference.name) throw fail('its path has a link');
    const text = await readOwnFile(reference.name);
    if (text === undefined) throw fail('there is no such file on the cell');
    return text.replace(/\r?\n$/u, '');
  } catch (error) {
    if (error instanceof MountError) throw error;
    if (isProductError(error, 'FILE_NOT_TRUSTED')) throw fail("the file is not root's own");
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === '') throw error;
    throw fail(code === 'ENOENT' ? 'there is no such file on the cell' : `the file cannot be read (${code})`);
  }
}
