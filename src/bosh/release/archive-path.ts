import { statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';

/**
 * Returns the path of a release's archive, in which `((name))` and `((version))` are replaced. Throws
 * FILE_NOT_FOUND if its folder does not exist, and INVALID_ARGUMENT if the path is a folder, because the
 * archive is written last.
 */
export function archivePathOf(template: string, name: string, version: string): string {
  const path = template.replaceAll('((name))', name).replaceAll('((version))', version);
  if (statSync(dirname(path), { throwIfNoEntry: false }) === undefined)
    throw new ProductError(
      'FILE_NOT_FOUND',
      `The folder '${dirname(path)}' for the archive '${basename(path)}' does not exist; create it first`,
    );
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${path}' is a folder; name the archive, for example '${join(path, `${name}-${version}.tgz`)}'`,
    );
  return path;
}
