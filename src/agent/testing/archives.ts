import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { packTar } from 'modern-tar';

/** The text of a file, or the target of a symbolic link. */
export type ArchiveEntry = string | { readonly link: string };

/** Returns a gzipped tar archive of these files by path. Every file is executable. */
export async function makeArchive(files: Readonly<Record<string, ArchiveEntry>>): Promise<Buffer> {
  const entries = Object.entries(files).map(([name, entry]) => {
    const mtime = new Date(0);
    if (typeof entry !== 'string') {
      return { header: { name, size: 0, type: 'symlink' as const, linkname: entry.link, mtime } };
    }
    return { header: { name, size: Buffer.byteLength(entry), mode: 0o755, mtime }, body: entry };
  });
  return gzipSync(await packTar(entries));
}

export const sha256 = (content: Buffer): string =>
  `sha256:${createHash('sha256').update(content).digest('hex')}`;
export const sha1 = (content: Buffer): string => createHash('sha1').update(content).digest('hex');
