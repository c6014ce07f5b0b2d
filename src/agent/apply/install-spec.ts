import type { Blobs } from '../blob/blobs.ts';
import { extractArchive } from '../file/archive.ts';
import { fixJobPermissions, type Identities } from '../user/identities.ts';
import type { Bundle, BundleCollection, SpecBundles } from './bundle-collection.ts';
import type { ApplySpec, JobSpec, PackageSpec } from './spec.ts';

export interface InstallOptions {
  readonly blobs: Blobs;
  readonly bundles: BundleCollection;
  readonly identities: Identities;
  /** How many archives are unpacked at the same time. */
  readonly parallel: number;
}

/** A spec whose jobs and packages are on the VM's disk. */
export interface InstalledSpec extends SpecBundles {
  readonly spec: ApplySpec;
}

/**
 * Installs every job and package of a spec on the disk, without making the spec the one in use (action
 * `prepare`). Does not touch bundles that are installed already. Verifies digests before it unpacks anything.
 * Then removes the archive of rendered templates from the VM.
 */
export async function installSpec(spec: ApplySpec, options: InstallOptions): Promise<InstalledSpec> {
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
  // Rendered templates contain secrets, and installed jobs do not need the archive any more. A director
  // uploads it before `prepare`, and with another id before `apply`.
  if (spec.renderedTemplates !== undefined) await options.blobs.local.remove(spec.renderedTemplates.blobId);
  return { spec, ...options.bundles.all(spec) };
}

/** Installs one compiled package unless it is installed, and returns its bundle. */
export async function installPackage(
  spec: PackageSpec,
  { blobs, bundles }: Pick<InstallOptions, 'blobs' | 'bundles'>,
): Promise<Bundle> {
  const bundle = bundles.package(spec);
  if (await bundle.isInstalled()) return bundle;
  await blobs.withVerified(spec, `package '${spec.name}'`, (archive) =>
    bundle.install((directory) => extractArchive(archive, directory)),
  );
  return bundle;
}

async function installJob(
  job: JobSpec,
  spec: ApplySpec,
  { blobs, bundles, identities }: InstallOptions,
): Promise<void> {
  const { renderedTemplates } = spec;
  const bundle = bundles.job(job, spec);
  if (renderedTemplates === undefined || (await bundle.isInstalled())) return;
  await blobs.withVerified(renderedTemplates, `rendered templates of job '${job.name}'`, (archive) =>
    bundle.install(async (directory) => {
      await extractArchive(archive, directory, job.name);
      await fixJobPermissions(directory, identities);
    }),
  );
}
