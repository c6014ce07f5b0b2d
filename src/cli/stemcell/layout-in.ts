import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { layoutFolder } from '../../stemcell/publish.ts';

/** A folder in OCI layout, or what `stemcell build` made, which has one. */
export async function layoutIn(folder: string): Promise<string> {
  const inside = join(folder, layoutFolder);
  const isBuilt = await stat(join(inside, 'oci-layout')).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false;
      throw error;
    },
  );
  return isBuilt ? inside : folder;
}
