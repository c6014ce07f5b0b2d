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

/**
 * Returns the path of an archive; a remote archive is downloaded first. `description` names it in the
 * progress line, for example `release 'hello'`.
 */
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
