import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PathSegment } from '../../platform/path-segment.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { makePrivateDirectory } from '../durable-file.ts';

/** Where a CPI is installed on this machine. All paths are absolute. */
export interface InstallationDirectory {
  /** Of all deployments; nothing outside of it is removed. */
  readonly installations: string;
  readonly root: string;
  /** BOSH_PACKAGES_DIR of the CPI. */
  readonly packages: string;
  /** BOSH_JOBS_DIR of the CPI; holds credentials, so it is there during a run only. */
  readonly jobs: string;
  /** Scratch of one run. */
  readonly temporary: string;
  /** Which packages are complete in `packages`. */
  readonly index: string;
  /** What is in archives that were opened before. */
  readonly catalog: string;
  /** Digests of archives as they were when last read. */
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

/** Makes the folders and empties what only one run uses: what a killed one left, its rendered credentials above all. */
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
