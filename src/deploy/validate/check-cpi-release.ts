import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { ReleaseSummary } from '../archive/archive-catalog.ts';

const cpiExecutable = 'bin/cpi';

/** The one job of `cloud_provider` that renders `bin/cpi`; MANIFEST_INVALID unless there is exactly one. */
export function findCpiJob(
  { cloudProvider }: Manifest,
  releases: readonly ReleaseSummary[],
): { name: string; release: string } {
  const faults: string[] = [];
  const found = cloudProvider.templates.filter(({ name, release }) => {
    const summary = releases.find((candidate) => candidate.name === release);
    const job = summary?.jobs.find((candidate) => candidate.name === name);
    if (summary === undefined)
      faults.push(`installation release '${release}' must refer to a provided release`);
    else if (job === undefined) faults.push(`release '${release}' must contain specified job '${name}'`);
    return job?.destinations.includes(cpiExecutable) === true;
  });
  const [job] = found;
  if (job !== undefined && found.length === 1) return job;
  const inspected = cloudProvider.templates.map(({ release }) => release).join(', ');
  throw new ProductError(
    'MANIFEST_INVALID',
    [
      `Found ${found.length} releases containing a template that renders to target '${cpiExecutable}'. Expected to find 1. Releases inspected: ${inspected}`,
      ...faults,
    ].join('; '),
  );
}
