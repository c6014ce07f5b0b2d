import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { ReleaseSummary } from '../archive/archive-catalog.ts';

/** Throws MANIFEST_INVALID, naming every job of the instance group that its release does not have. */
export function checkJobs({ instanceGroup }: Manifest, releases: readonly ReleaseSummary[]): void {
  const faults = instanceGroup.jobs.flatMap(({ name, release }, index) => {
    const key = `instance_groups[${instanceGroup.name}].jobs[${index}]`;
    const summary = releases.find((candidate) => candidate.name === release);
    if (summary === undefined) return [`${key}.release '${release}' is not among releases`];
    if (summary.jobs.some((job) => job.name === name)) return [];
    return [`${key}.name '${name}' is not a job of release '${release}' (${summary.version})`];
  });
  if (faults.length === 0) return;
  throw new ProductError(
    'MANIFEST_INVALID',
    `Validating deployment jobs refer to jobs in release: ${faults.join('; ')}`,
  );
}
