import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PathSegment } from '../../platform/path-segment.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { makePrivateDirectory } from '../durable-file.ts';

/** The paths of a CPI that is installed on this machine. All paths are absolute. */
export interface InstallationDirectory {
  /** The parent directory of all installations. Nothing outside of it is removed. */
  readonly installations: string;
  readonly root: string;
  /** The CPI's BOSH_PACKAGES_DIR. */
  readonly packages: string;
  /** The CPI's BOSH_JOBS_DIR. It contains credentials, so it exists only during a run. */
  readonly jobs: string;
  /** Temporary files of one run. */
  readonly temporary: string;
  /** The file that lists the complete packages in `packages`. */
  readonly index: string;
  /** The file with the summaries of archives that were opened before. */
  readonly catalog: string;
  /** The file with the digests of archives as they were last read. */
  readonly digests: string;
  /** Packages that VMs of this deployment compiled. */
  readonly compiledPackages: string;
}

export function installationDirectory(workspace: string, installationId: PathSegment): InstallationDirectory {
  const installations = join(workspace, 'installations');
  const root = join(installations, installationId);
  return {
    installations,
    root,
    packages: join(root, 'packages'),
    jobs: join(root, 'jobs'),
    temporary: join(root, 'tmp'),
    index: join(root, 'installed_packages.json'),
    catalog: join(root, 'archives.json'),
    digests: join(root, 'digests.json'),
    compiledPackages: join(root, 'compiled'),
  };
}

/**
 * Creates the directories and empties those that only one run uses. This removes what a killed run left,
 * above all rendered credentials.
 */
export async function prepareInstallation(directory: InstallationDirectory): Promise<void> {
  const { root, packages, jobs, temporary } = directory;
  await makePrivateDirectory(root);
  await clearRun(directory);
  await mkdir(packages, { recursive: true });
  await Promise.all([jobs, temporary].map(makePrivateDirectory));
}

/** Removes what must not outlive a run. */
export async function clearRun({ installations, jobs, temporary }: InstallationDirectory): Promise<void> {
  await Promise.all([jobs, temporary].map((path) => removeTree(path, { within: installations })));
}
