import type { BlobStore } from '../blob/blob-store.ts';
import type { Directories } from '../directories.ts';
import { extractArchive } from '../file/archive.ts';
import type { ApplySpec, JobSpec, PackageSpec } from './spec.ts';
import { fixJobPermissions, type Identities } from '../user/identities.ts';
import { installBundle, isInstalled, jobBundle, packageBundle } from './bundle-collection.ts';

export interface InstallOptions {
  readonly blobs: BlobStore;
  readonly directories: Directories;
  readonly identities: Identities;
  /** How many archives are unpacked at the same time. */
  readonly parallel: number;
}

/**
 * Installs every job and package of a spec on the disk, without making the spec the one in use (action
 * `prepare`). Does not touch bundles that are installed already. Verifies digests before it unpacks anything.
 */
export async function installSpec(spec: ApplySpec, options: InstallOptions): Promise<void> {
  const work = [
    ...spec.jobs.map((job) => () => installJob(job, spec, options)),
    ...spec.packages.map((entry) => () => installPackage(entry, options)),
  ];
  const workers = Array.from({ length: options.parallel }, async () => {
    for (let next = work.shift(); next !== undefined; next = work.shift()) await next();
  });
  // Wait for all workers before throwing, so that nothing writes during the next call.
  const results = await Promise.allSettled(workers);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** Installs one compiled package unless it is installed. */
export async function installPackage(
  spec: PackageSpec,
  options: Pick<InstallOptions, 'blobs' | 'directories'>,
): Promise<void> {
  const bundle = packageBundle(spec, options.directories);
  if (await isInstalled(bundle)) return;
  const archive = await options.blobs.verified(spec.blobId, spec.digest, `package '${spec.name}'`);
  await installBundle(bundle, (directory) => extractArchive(archive, directory));
}

async function installJob(job: JobSpec, spec: ApplySpec, options: InstallOptions): Promise<void> {
  const { renderedTemplates } = spec;
  const bundle = jobBundle(job, spec, options.directories);
  if (renderedTemplates === undefined || (await isInstalled(bundle))) return;
  const what = `rendered templates of job '${job.name}'`;
  const archive = await options.blobs.verified(renderedTemplates.blobId, renderedTemplates.digest, what);
  await installBundle(bundle, async (directory) => {
    await extractArchive(archive, directory, job.name);
    await fixJobPermissions(directory, options.identities);
  });
}
