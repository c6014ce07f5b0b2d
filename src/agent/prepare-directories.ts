import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Directories } from './directories.ts';
import { replaceLink } from './file/symbolic-link.ts';

/**
 * Makes the folders of a VM and clears what only a running agent uses: temporary files and half-done compilations
 * of an earlier life. The store is a mount point or nothing: it is not made here.
 */
export async function prepareDirectories(directories: Directories): Promise<void> {
  for (const path of [directories.temporary, directories.compile]) {
    await rm(path, { recursive: true, force: true });
  }
  const modes: readonly (readonly [string, number])[] = [
    [directories.bosh, 0o755],
    [directories.agentLog, 0o750],
    [directories.monit, 0o700],
    [directories.monitJobs, 0o700],
    [directories.jobs, 0o755],
    [directories.packages, 0o755],
    [directories.instance, 0o755],
    [directories.data, 0o755],
    [directories.dataJobs, 0o755],
    [directories.dataPackages, 0o755],
    [directories.compile, 0o755],
    [directories.temporary, 0o770],
    [directories.log, 0o755],
    [directories.run, 0o755],
  ];
  for (const [path, mode] of modes) await mkdir(path, { recursive: true, mode });
  await chmod(directories.monit, 0o700);
  await replaceLink(directories.dataSys, directories.sys);
  await removeTemporaryFiles(directories.bosh);
}

// what a durable write left when it was killed half-way
async function removeTemporaryFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (/\.[0-9a-f-]{36}\.tmp$/.test(name)) await rm(join(folder, name), { force: true });
  }
}
