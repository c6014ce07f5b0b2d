import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { ReleaseSummary } from '../archive/archive-catalog.ts';

/** Throws MANIFEST_INVALID with a line for each job of the instance group that its release does not have. */
export function checkJobs({ instanceGroup }: Manifest, releases: readonly ReleaseSummary[]): void {
  const faults = instanceGroup.jobs.flatMap((job) => missingJob(job, releases) ?? []);
  if (faults.length > 0) throw new ProductError('MANIFEST_INVALID', faults.join('\n'));
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
