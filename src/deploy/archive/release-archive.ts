import { join } from 'node:path';
import type { ReleaseReference } from '../../bosh/manifest/manifest.ts';
import { openRelease } from '../../bosh/release/open-release.ts';
import type { Release } from '../../bosh/release/release.ts';
import { ProductError } from '../../errors/product-error.ts';
import { within } from '../error-chain.ts';
import type { ArchiveCatalog, ReleaseSummary } from './archive-catalog.ts';
import { verifyArchive } from './local-archive.ts';

/** A release of the manifest: what is in it is known, unpacked it is when somebody needs it. */
export interface ReleaseArchive {
  readonly summary: ReleaseSummary;
  /** Unpacks and verifies it, once a run. */
  open(): Promise<Release>;
}

export interface ReleaseArchiveOptions {
  readonly reference: ReleaseReference;
  readonly path: string;
  readonly catalog: ArchiveCatalog;
  /** Unpacked releases go below. */
  readonly directory: string;
}

/** Identifies a release archive and checks that it is the release of that name. */
export async function readReleaseArchive(options: ReleaseArchiveOptions): Promise<ReleaseArchive> {
  const { reference, catalog } = options;
  return within(`Extracting release '${options.path}'`, async () => {
    const archive = await verifyArchive(options.path, reference.digest);
    let opened: Promise<Release> | undefined;
    const open = (): Promise<Release> =>
      (opened ??= openRelease({
        archivePath: archive.path,
        directory: join(options.directory, 'releases', reference.name),
      }));
    const known = catalog.find(archive.digest, 'release');
    const summary = known ?? summarize(await open());
    if (summary.name !== reference.name) {
      throw new ProductError(
        'RELEASE_INVALID',
        `Release name '${reference.name}' does not match the name in release tarball '${summary.name}'`,
      );
    }
    if (known === undefined) await catalog.add(archive.digest, summary);
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
    })),
  };
}
