import { entriesOf, packArchive } from '../archive/pack-archive.ts';
import type { ArchiveEntry } from '../archive/pack-archive.ts';
import { digestOfFile } from '../digest/verify-file.ts';
import type { RenderedJob } from './render-job.ts';

/**
 * Writes a tar.gz (mode 0600) with a top-level directory per job, as agents expect it. The bytes depend only
 * on the content. Returns its digest, `sha256:<hex>`.
 */
export async function packRenderedJobs(jobs: readonly RenderedJob[], outFile: string): Promise<string> {
  const sorted = jobs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const folders = await Promise.all(
    sorted.map(async ({ name, directory }): Promise<readonly ArchiveEntry[]> => [
      { kind: 'directory', name: `./${name}/`, mode: 0o755 },
      ...(await entriesOf(directory, `./${name}/`)).map(withUsualMode),
    ]),
  );
  await packArchive(folders.flat(), outFile, { mode: 0o600 });
  return digestOfFile(outFile);
}

/**
 * Restores the usual modes. The modes here deny access to other users of this machine; on the VM the agent
 * sets its own.
 */
function withUsualMode(entry: ArchiveEntry): ArchiveEntry {
  if (entry.kind === 'symlink') return entry;
  return { ...entry, mode: (entry.mode & 0o100) === 0 ? 0o644 : 0o755 };
}
