import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { shellWord } from '../../platform/shell-word.ts';
import { layoutFolder } from '../../stemcell/write-stemcell.ts';
import { findKind } from '../../stemcell/source/detect-source-kind.ts';

/**
 * Returns the OCI layout directory for `folder`, which is one itself or the output of `stemcell build`, which
 * contains one. Rejects with INVALID_ARGUMENT for a file; the error says what the file is, or how to convert
 * it into such a directory.
 */
export async function findLayout(folder: string): Promise<string> {
  if (await isFile(folder)) {
    await findKind(folder);
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${folder}' is a file, and a folder that 'stemcell build' made is needed: bosh-kubernetes stemcell build --from ${shellWord(folder)} --output FOLDER`,
    );
  }
  const inside = join(folder, layoutFolder);
  return (await isFile(join(inside, 'oci-layout'))) ? inside : folder;
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR'].includes(String(error.code)))
      return false;
    throw error;
  }
}
