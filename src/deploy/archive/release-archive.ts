import { join } from 'node:path';
import type { ReleaseReference } from '../../bosh/manifest/manifest.ts';
import { openRelease } from '../../bosh/release/open-release.ts';
import type { Release, ReleaseJob } from '../../bosh/release/release.ts';
import { ProductError } from '../../errors/product-error.ts';
import { withContext } from '../../platform/error-chain.ts';
import type { ArchiveCatalog, ReleaseSummary } from './archive-catalog.ts';
import type { DigestCache } from './digest-cache.ts';

/** A release of the manifest. Its summary is known; it is unpacked only on demand. */
export interface ReleaseArchive {
  readonly summary: ReleaseSummary;
  /** Unpacks and verifies the release, at most once in a run. */
  open(): Promise<Release>;
}

export interface ReleaseArchiveOptions {
  readonly reference: ReleaseReference;
  readonly path: string;
  readonly catalog: ArchiveCatalog;
  readonly digests: DigestCache;
  /** Releases are unpacked below this directory. */
  readonly directory: string;
}

/** Identifies a release archive and verifies that it has the name of the reference. */
export async function readReleaseArchive(options: ReleaseArchiveOptions): Promise<ReleaseArchive> {
  const { reference, catalog } = options;
  return withContext(`${reference.at}: Extracting release '${options.path}'`, async () => {
    const digest = await options.digests.verify(options.path, reference.digest);
    let opened: Promise<Release> | undefined;
    const open = (): Promise<Release> =>
      (opened ??= openRelease({
        archivePath: options.path,
        digest,
        directory: join(options.directory, 'releases', reference.name),
        within: options.directory,
      }));
    const known = catalog.find(digest, 'release');
    const summary = known ?? summarize(await withContext(`Opening the archive with digest ${digest}`, open));
    if (summary.name !== reference.name) {
      throw new ProductError(
        'RELEASE_INVALID',
        `Release name '${reference.name}' does not match the name in release tarball '${summary.name}'`,
      );
    }
    if (known === undefined) await catalog.add(digest, summary);
    return { summary, open };
  });
}

function summarize({ name, version, jobs }: Release): ReleaseSummary {
  return {
    kind: 'release',
    name,
    version,
    jobs: jobs.map((job) => ({
      name: job.name,
      destinations: job.spec.templates.map(({ destination }) => destination),
      properties: Object.keys(job.spec.properties),
    })),
  };
}

/** Unpacks the named releases, each once. */
export async function openReleases(
  archives: readonly ReleaseArchive[],
  names: readonly string[],
): Promise<Release[]> {
  const requested = new Set(names);
  const releases: Release[] = [];
  for (const archive of archives)
    if (requested.has(archive.summary.name)) releases.push(await archive.open());
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
