import type { ArchiveReference } from '../../bosh/manifest/manifest.ts';
import type { Stage } from '../stage/stage.ts';
import type { DigestCache } from './digest-cache.ts';
import { downloadArchive } from './download-archive.ts';

export interface ArchiveContext {
  readonly stage: Stage;
  readonly downloadDirectory: string;
  readonly digests: DigestCache;
  readonly signal: AbortSignal | undefined;
}

/** The path of an archive, fetched first when it is elsewhere. `description` is what the line says: `release 'hello'`. */
export async function locateArchive(
  reference: ArchiveReference,
  description: string,
  { stage, downloadDirectory: directory, digests, signal }: ArchiveContext,
): Promise<string> {
  const { location, digest } = reference;
  if (location.kind === 'file') return location.path;
  return stage.perform(`Downloading ${description}`, (step) =>
    downloadArchive({ url: location.url, digest: digest ?? '', directory, digests, signal }, step),
  );
}
