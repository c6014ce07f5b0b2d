import { createHash } from 'node:crypto';
import { entriesOf, packArchive } from '../archive/pack-archive.ts';
import type { ArchiveEntry } from '../archive/pack-archive.ts';
import { digestOfFile } from '../digest/verify-file.ts';
import type { RenderedJob } from './render-job.ts';

export interface PackedJobs {
  /** `sha256:<hex>` of the archive. */
  readonly digest: string;
  /** Hex; the same for the same rendered content. */
  readonly configurationHash: string;
}

/** Writes a tar.gz (mode 0600) with a top-level folder per job, as an agent wants it; same content, same bytes. */
export async function packRenderedJobs(jobs: readonly RenderedJob[], outFile: string): Promise<PackedJobs> {
  const sorted = jobs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const folders = await Promise.all(
    sorted.map(async ({ name, directory }): Promise<readonly ArchiveEntry[]> => [
      { kind: 'directory', name: `./${name}/`, mode: 0o755 },
      ...(await entriesOf(directory, `./${name}/`)).map(withUsualMode),
    ]),
  );
  const entries = folders.flat();
  await packArchive(entries, outFile, { mode: 0o600 });
  return { digest: await digestOfFile(outFile), configurationHash: await hashOf(entries) };
}

/** The modes here keep others on this machine out; on the VM the agent sets its own. */
function withUsualMode(entry: ArchiveEntry): ArchiveEntry {
  if (entry.kind === 'symlink') return entry;
  return { ...entry, mode: (entry.mode & 0o100) === 0 ? 0o644 : 0o755 };
}

async function hashOf(entries: readonly ArchiveEntry[]): Promise<string> {
  const hash = createHash('sha256');
  for (const entry of entries) {
    const content = entry.kind === 'file' ? await digestOfFile(entry.path) : '';
    hash.update(`${JSON.stringify([entry.kind, entry.name, entry.mode, content])}\n`);
  }
  return hash.digest('hex');
}
