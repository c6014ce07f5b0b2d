import type { Directories } from '../directories.ts';
import type { ApplySpec, JobSpec, PackageSpec } from '../spec/apply-spec.ts';
import { bundleOf } from './bundle.ts';
import type { Bundle } from './bundle.ts';

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
