import type { Release, ReleaseJob } from '../../bosh/release/release.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { ReleaseArchive } from './release-archive.ts';

/** Unpacks the named releases, each once. */
export async function openReleases(
  archives: readonly ReleaseArchive[],
  names: readonly string[],
): Promise<Release[]> {
  const wanted = new Set(names);
  const releases: Release[] = [];
  for (const archive of archives) if (wanted.has(archive.summary.name)) releases.push(await archive.open());
  return releases;
}

export function jobOfRelease(
  releases: readonly Release[],
  reference: { readonly name: string; readonly release: string },
): ReleaseJob {
  const job = releases
    .find(({ name }) => name === reference.release)
    ?.jobs.find(({ name }) => name === reference.name);
  if (job !== undefined) return job;
  throw new ProductError(
    'RELEASE_INVALID',
    `Resolving job '${reference.name}' in release '${reference.release}'`,
  );
}
