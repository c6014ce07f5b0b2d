import { createHash, randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from '../file/directory-handle.ts';
import { errorCode } from '../file/error-code.ts';
import { readLinkIfPresent, replaceLink } from '../file/files.ts';
import type { Directories } from '../directories.ts';
import type { ApplySpec, JobSpec, PackageSpec } from './spec.ts';

/**
 * One version of a job or package: the directory where it is installed, and the link that makes it the one in
 * use.
 */
export interface Bundle {
  readonly name: string;
  readonly installPath: string;
  readonly linkPath: string;
}

const partialPrefix = '.partial-';

/**
 * Returns the bundle of a version (bosh-agent: agent/applier/bundlecollection). `identity` must be unique for
 * the content; the directory is named by its digest.
 */
export function bundleOf(
  name: string,
  identity: string,
  folders: { readonly install: string; readonly link: string },
): Bundle {
  const hash = createHash('sha256').update(identity).digest('hex');
  return { name, installPath: join(folders.install, name, hash), linkPath: join(folders.link, name) };
}

/** Returns true if the bundle exists. A bundle exists only as a whole. */
export async function isInstalled(bundle: Bundle): Promise<boolean> {
  try {
    return (await lstat(bundle.installPath)).isDirectory();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/**
 * Installs a bundle unless it exists. `populate` gets an empty directory, which becomes the bundle in one
 * step.
 */
export async function installBundle(
  bundle: Bundle,
  populate: (directory: string) => Promise<void>,
): Promise<void> {
  if (await isInstalled(bundle)) return;
  const parent = join(bundle.installPath, '..');
  const partial = join(parent, `${partialPrefix}${randomUUID()}`);
  await mkdir(partial, { recursive: true, mode: 0o755 });
  try {
    await populate(partial);
    await rename(partial, bundle.installPath);
  } catch (error) {
    await removeTree(partial);
    throw error;
  }
}

/**
 * Makes exactly these bundles the ones in use: creates their links and removes all other links of the
 * directory.
 */
export async function linkBundles(linkFolder: string, bundles: readonly Bundle[]): Promise<void> {
  for (const bundle of bundles) await replaceLink(bundle.installPath, bundle.linkPath);
  const kept = new Set(bundles.map((bundle) => bundle.name));
  for (const name of await readdir(linkFolder)) {
    const path = join(linkFolder, name);
    if (!kept.has(name) && (await readLinkIfPresent(path)) !== undefined) await rm(path);
  }
}

/**
 * Removes every installed version below `installFolder` that is not in `bundles`, and all incomplete ones.
 */
export async function collectBundles(installFolder: string, bundles: readonly Bundle[]): Promise<void> {
  const kept = new Set(bundles.map((bundle) => bundle.installPath));
  for (const name of await readdir(installFolder)) {
    const folder = join(installFolder, name);
    for (const version of await readdir(folder)) {
      const path = join(folder, version);
      if (!kept.has(path)) await removeTree(path);
    }
    if ((await readdir(folder)).length === 0) await removeTree(folder);
  }
}

/**
 * Returns the bundle of a job. Its version and the digest of the rendered archive identify it, because the
 * same job version can be rendered with other properties.
 */
export function jobBundle(job: JobSpec, spec: ApplySpec, directories: Directories): Bundle {
  const identity = `${job.version}-${spec.renderedTemplates?.digest ?? ''}`;
  return bundleOf(job.name, identity, { install: directories.dataJobs, link: directories.jobs });
}

/** Returns the bundle of a compiled package. */
export function packageBundle(spec: PackageSpec, directories: Directories): Bundle {
  const identity = `${spec.version}-${spec.digest}`;
  return bundleOf(spec.name, identity, { install: directories.dataPackages, link: directories.packages });
}

/** Returns all bundles of a spec. */
export function bundlesOf(
  spec: ApplySpec,
  directories: Directories,
): { readonly jobs: readonly Bundle[]; readonly packages: readonly Bundle[] } {
  return {
    jobs: spec.jobs.map((job) => jobBundle(job, spec, directories)),
    packages: spec.packages.map((entry) => packageBundle(entry, directories)),
  };
}
