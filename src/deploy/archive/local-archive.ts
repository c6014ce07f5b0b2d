import type { ArchiveReference } from '../../bosh/manifest/manifest.ts';
import { digestOfFile, verifyFile } from '../../bosh/digest/verify-file.ts';
import type { Stage } from '../stage/stage.ts';
import { downloadArchive } from './download-archive.ts';

/** An archive that lies on this machine. */
export interface LocalArchive {
  readonly path: string;
  /** `sha256:<hex>` of the whole file. */
  readonly digest: string;
}

export interface ArchiveContext {
  readonly stage: Stage;
  readonly downloadDirectory: string;
  readonly signal: AbortSignal | undefined;
}

/** The path of an archive, fetched first when it is elsewhere. `description` is what the line says: `release 'hello'`. */
export async function locateArchive(
  reference: ArchiveReference,
  description: string,
  { stage, downloadDirectory, signal }: ArchiveContext,
): Promise<string> {
  const { location, digest } = reference;
  if (location.kind === 'file') return location.path;
  return stage.perform(`Downloading ${description}`, (step) =>
    downloadArchive({ url: location.url, digest: digest ?? '', directory: downloadDirectory, signal }, step),
  );
}

/** Digests the file and holds it against the digest that the manifest names, if any. */
export async function verifyArchive(path: string, expected: string | undefined): Promise<LocalArchive> {
  const digest = await digestOfFile(path);
  if (expected !== undefined && expected !== digest) await verifyFile(path, expected);
  return { path, digest };
}
