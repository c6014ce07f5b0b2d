import { lstat, readlink, realpath } from 'node:fs/promises';
import { pathSegment, type PathSegment } from '../../platform/path-segment.ts';
import { compareBytes, packArchive } from '../archive/pack-archive.ts';
import type { ArchiveEntry } from '../archive/pack-archive.ts';
import { fingerprint } from './fingerprint.ts';
import type { ReleaseFile } from './fingerprint.ts';
import type { ReleaseDirectory } from './release-directory.ts';

export type PartKind = 'job' | 'package' | 'license';

/** A part of a release, before it is packed. */
export interface SourcePart {
  readonly kind: PartKind;
  readonly name: PathSegment;
  readonly fingerprint: string;
  /** Names of packages: for a job those that it uses, for a package its dependencies. */
  readonly references: readonly string[];
  /** Undefined for a vendored package, whose archive exists already. */
  readonly content: { readonly files: readonly ReleaseFile[]; readonly compress: boolean } | undefined;
}

/** A part with its archive. */
export interface PackedPart extends Omit<SourcePart, 'content'> {
  readonly digest: string;
  readonly path: string;
}

/** Returns all parts with their fingerprints: jobs, packages and the license. */
export async function sourceParts({ jobs, packages, license }: ReleaseDirectory): Promise<readonly SourcePart[]> {
  const parts: SourcePart[] = [];
  for (const { name, files, packages: references } of jobs) {
    const print = await fingerprint(files, { followLinks: true });
    parts.push({ kind: 'job', name, references, fingerprint: print, content: { files, compress: true } });
  }
  for (const { name, files, dependencies, compress, lockedFingerprint } of packages) {
    const common = { kind: 'package', name, references: dependencies } as const;
    if (lockedFingerprint !== undefined) parts.push({ ...common, fingerprint: lockedFingerprint, content: undefined });
    else {
      const print = await fingerprint(files, { followLinks: false, dependencies });
      parts.push({ ...common, fingerprint: print, content: { files, compress } });
    }
  }
  if (license.length > 0) {
    const print = await fingerprint(license, { followLinks: false });
    const content = { files: license, compress: true };
    parts.push({ kind: 'license', name: pathSegment('license'), references: [], fingerprint: print, content });
  }
  return parts;
}

/**
 * Writes the part's archive (bosh-cli: release/resource/archive.go). `isTemporary` has the meaning of
 * PackOptions.
 */
export async function packPart(
  { kind }: Pick<SourcePart, 'kind'>,
  { files, compress }: NonNullable<SourcePart['content']>,
  { path, isTemporary }: { readonly path: string; readonly isTemporary: boolean },
): Promise<void> {
  const entries = await Promise.all(files.map((file) => fileEntry(file, kind === 'job')));
  await packArchive(withDirectories(entries), path, { compression: compress ? 'gzip' : 'none', isTemporary });
}

async function fileEntry({ name, path }: ReleaseFile, followLinks: boolean): Promise<ArchiveEntry> {
  const stat = await lstat(path);
  const mode = (stat.mode & 0o100) === 0 ? 0o644 : 0o755;
  if (!stat.isSymbolicLink()) return { kind: 'file', name: `./${name}`, mode, path, size: stat.size };
  if (!followLinks) return { kind: 'symlink', name: `./${name}`, mode: 0o777, target: await readlink(path) };
  const target = await realpath(path);
  return { kind: 'file', name: `./${name}`, mode, path: target, size: (await lstat(target)).size };
}

/** Adds every directory once and before its content, as tar does for a staged directory. */
function withDirectories(entries: readonly ArchiveEntry[]): readonly ArchiveEntry[] {
  const paths = new Set<string>(['./']);
  for (const { name } of entries) {
    for (let end = name.indexOf('/', 2); end !== -1; end = name.indexOf('/', end + 1)) paths.add(name.slice(0, end + 1));
  }
  const directories = [...paths].map((name): ArchiveEntry => ({ kind: 'directory', name, mode: 0o755 }));
  return [...directories, ...entries].toSorted((a, b) => compareBytes(a.name, b.name));
}
