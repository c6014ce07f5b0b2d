import { join } from 'node:path';
import { openStemcell } from '../../bosh/stemcell/open-stemcell.ts';
import type { Stemcell } from '../../bosh/stemcell/stemcell.ts';
import { withContext } from '../../platform/error-chain.ts';
import type { ArchiveCatalog, StemcellSummary } from './archive-catalog.ts';
import type { DigestCache } from './digest-cache.ts';

/** The manifest's stemcell. Its manifest is known; the archive is unpacked only for an upload. */
export interface StemcellArchive {
  readonly summary: StemcellSummary;
  /** Unpacks the stemcell, at most once in a run, and returns the path of its image. */
  imagePath(): Promise<string>;
}

export interface StemcellArchiveOptions {
  readonly path: string;
  readonly digest: string | undefined;
  readonly catalog: ArchiveCatalog;
  readonly digests: DigestCache;
  readonly directory: string;
}

/** Identifies a stemcell archive. */
export async function readStemcellArchive(options: StemcellArchiveOptions): Promise<StemcellArchive> {
  const { catalog } = options;
  return withContext(`Extracting stemcell from '${options.path}'`, async () => {
    const digest = await options.digests.verify(options.path, options.digest);
    let opened: Promise<Stemcell> | undefined;
    const open = (): Promise<Stemcell> =>
      (opened ??= openStemcell({
        archivePath: options.path,
        digest,
        directory: join(options.directory, 'stemcell'),
        within: options.directory,
      }));
    const known = catalog.find(digest, 'stemcell');
    const summary = known ?? summarize(await withContext(`Opening the archive with digest ${digest}`, open));
    if (known === undefined) await catalog.add(digest, summary);
    return { summary, imagePath: async () => (await open()).imagePath };
  });
}

function summarize({ name, version, apiVersion, formats, cloudProperties }: Stemcell): StemcellSummary {
  return { kind: 'stemcell', name, version, apiVersion, formats, cloudProperties };
}
