import { mkdir, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ProductError, isProductError } from '../errors/product-error.ts';
import type { Directories } from './directories.ts';
import { DirectoryHandle, removeTree } from './file/directory-handle.ts';
import { isTemporaryName, replaceLink } from './file/files.ts';
import { errorMessage } from './file/error-code.ts';
import { type Identities, vcapGroup } from './user/identities.ts';

/**
 * Creates the VM's directories, owned by root with the modes of a BOSH VM, and corrects existing ones.
 * Otherwise a job user could replace programs that root runs. Also removes temporary files and unfinished
 * compilations of earlier runs. The store is a mount point, so it is not created here.
 */
export async function prepareDirectories(directories: Directories, identities: Identities): Promise<void> {
  const group = vcapGroup(identities);
  // Without the group vcap, job users need the permissions for others.
  const vcap = group === undefined ? 0o755 : 0o750;
  const modes: readonly (readonly [path: string, mode: number, group?: number | undefined])[] = [
    [directories.base, 0o755],
    [directories.bosh, 0o755],
    [directories.agentLog, 0o750],
    [directories.monit, 0o700],
    [directories.monitJobs, 0o700],
    [directories.monitLog, 0o700],
    [directories.jobs, 0o755],
    [directories.packages, 0o755],
    [directories.instance, 0o755],
    [directories.data, 0o755],
    [directories.dataJobs, vcap, group],
    [directories.dataPackages, 0o755, group],
    [directories.blobs, 0o700],
    [directories.dataSys, vcap, group],
    [directories.log, vcap, group],
    [directories.run, vcap, group],
    [directories.compile, 0o755],
    [dirname(directories.temporary), 0o755],
    [directories.temporary, 0o755],
  ];
  await mkdir(dirname(directories.base), { recursive: true });
  for (const [path, mode, owner] of modes) {
    if (path === directories.compile || path === directories.temporary) await removeTree(path);
    await makeRootDirectory(path, mode, owner);
  }
  await replaceLink(directories.dataSys, directories.sys);
  const { base, bosh, monit, monitJobs, instance, jobs, packages } = directories;
  for (const path of [base, bosh, monit, monitJobs, instance, jobs, packages])
    await removeTemporaryFiles(path);
}

async function makeRootDirectory(path: string, mode: number, group: number | undefined): Promise<void> {
  try {
    await using parent = await DirectoryHandle.open(dirname(path));
    await parent.makeDirectory(basename(path), mode);
    await using directory = await DirectoryHandle.open(path);
    await directory.chownToRoot(group, mode);
  } catch (error) {
    if (isProductError(error)) throw error;
    throw new ProductError(
      'AGENT_PATH_UNSAFE',
      `${path} cannot be given to root with mode ${mode.toString(8)}, so job users could replace programs that root runs: ${errorMessage(error)}`,
      { cause: error },
    );
  }
}

/** Removes the files and links of writes that a crash interrupted before their rename. Leaves folders. */
async function removeTemporaryFiles(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (isTemporaryName(entry.name) && !entry.isDirectory())
      await rm(join(path, entry.name), { force: true });
  }
}
