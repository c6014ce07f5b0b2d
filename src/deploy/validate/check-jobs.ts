import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { PathSegment } from '../../platform/path-segment.ts';
import type { ReleaseSummary } from '../archive/archive-catalog.ts';

/** Throws MANIFEST_INVALID with a line for each job of the instance group that its release does not have. */
export function checkJobs({ instanceGroup }: Manifest, releases: readonly ReleaseSummary[]): void {
  const problems = instanceGroup.jobs.flatMap((job) => missingJob(job, releases) ?? []);
  if (problems.length > 0) throw new ProductError('MANIFEST_INVALID', problems.join('\n'));
}

/**
 * Returns what is wrong with a reference to a release's job, with its position in the manifest. Returns
 * undefined if the job exists.
 */
export function missingJob(
  { name, release, at }: { readonly name: string; readonly release: string; readonly at: string },
  releases: readonly ReleaseSummary[],
): string | undefined {
  const summary = releases.find((candidate) => candidate.name === release);
  if (summary === undefined) return `${at}: the release '${release}' is not among releases`;
  if (summary.jobs.some((job) => job.name === name)) return undefined;
  return `${at}: '${name}' is not a job of release '${release}' (${summary.version})`;
}

const cpiExecutable = 'bin/cpi';

/**
 * Returns the job of `cloud_provider` that renders `bin/cpi`. Throws MANIFEST_INVALID unless all jobs exist
 * and exactly one of them renders it.
 */
export function findCpiJob(
  { cloudProvider: { templates, at } }: Manifest,
  releases: readonly ReleaseSummary[],
): { name: PathSegment; release: string } {
  const problems = templates.flatMap((template) => missingJob(template, releases) ?? []);
  if (problems.length > 0) throw new ProductError('MANIFEST_INVALID', problems.join('\n'));
  const found = templates.filter(({ name, release }) =>
    releases
      .find((candidate) => candidate.name === release)
      ?.jobs.find((job) => job.name === name)
      ?.destinations.includes(cpiExecutable),
  );
  const [job] = found;
  if (job !== undefined && found.length === 1) return { name: job.name, release: job.release };
  const inspected = templates.map(({ name, release }) => `'${name}' of '${release}'`).join(', ');
  throw new ProductError(
    'MANIFEST_INVALID',
    `${at}: one job must render '${cpiExecutable}', found ${found.length} among ${inspected}`,
  );
}
