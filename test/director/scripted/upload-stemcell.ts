import { join } from 'node:path';
import { openStemcell } from '../../../src/bosh/stemcell/open-stemcell.ts';
import { checkout } from '../../support/embedded-environment.ts';

/** Uploads the stemcell of the embedded cluster, unpacked below the directory, and returns its cid. */
export async function uploadStemcell(
  cpi: (method: string, ...args: readonly unknown[]) => Promise<unknown>,
  directory: string,
): Promise<string> {
  const archivePath = join(checkout, 'dist', 'embedded-stemcell.tgz');
  const opened = await openStemcell({
    archivePath,
    directory: join(directory, 'stemcell'),
    within: directory,
  });
  return String(await cpi('create_stemcell', opened.imagePath, opened.cloudProperties));
}
