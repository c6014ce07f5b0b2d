import { realpath } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { DeploymentFiles } from '../deploy/state/deployment-files.ts';
import { ProductError } from '../errors/product-error.ts';
import type { EnvInputs } from './args/env-arguments.ts';
import type { Installation } from './installation.ts';

/**
 * Throws INVALID_ARGUMENT if the file or folder is in the npm package, or would be created there: npm removes
 * everything in it with the next version. Not for a command that only reads or removes.
 */
export async function assertOutsideOfPackage(
  path: string,
  { isPackage, root }: Pick<Installation, 'isPackage' | 'root'>,
): Promise<void> {
  if (!isPackage || relative(root, await existingFolder(path)).startsWith('..')) return;
  throw new ProductError(
    'INVALID_ARGUMENT',
    `'${path}' would be in the npm package, whose folder npm removes with all its content when it installs another version; nothing was ` +
      "changed. Run the command in a directory of your own, with a copy of the manifest's folder, or name files there with --state and --vars-store",
  );
}

/**
 * Throws INVALID_ARGUMENT if the state file or the vars store of a deployment would be in the npm package.
 */
export async function assertStateOutsideOfPackage(
  { manifestPath, statePath, varsStorePath }: Pick<EnvInputs, 'manifestPath' | 'statePath' | 'varsStorePath'>,
  installation: Pick<Installation, 'isPackage' | 'root'>,
): Promise<void> {
  const files = await DeploymentFiles.find(manifestPath, statePath);
  await assertOutsideOfPackage(files.statePath, installation);
  if (varsStorePath !== undefined) await assertOutsideOfPackage(varsStorePath, installation);
}

/** Returns the real path of the nearest folder above the path that exists. */
async function existingFolder(path: string): Promise<string> {
  const folder = dirname(path);
  try {
    return await realpath(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return existingFolder(folder);
  }
}
