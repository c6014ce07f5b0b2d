import { createHash } from 'node:crypto';
import { lstat, readlink } from 'node:fs/promises';
import { compareBytes } from '../archive/pack-archive.ts';
import { digestOfFile } from '../digest.ts';

/** A file of a job, a package or a license. */
export interface ReleaseFile {
  readonly path: string;
  /** The name in the archive. Fingerprints are sorted by it. */
  readonly name: string;
  /** True for packaging scripts and licenses: their mode is not part of the fingerprint. */
  readonly ignoreMode?: boolean;
}

export interface FingerprintOptions {
  /** Jobs hash the target of a link, packages the link itself. */
  readonly followLinks: boolean;
  /** Names of the packages that a package depends on. */
  readonly dependencies?: readonly string[];
}

/**
 * Returns BOSH's fingerprint of a release part: hex SHA-256 over "v2", each file's name, digest and mode, and
 * the dependencies (bosh-cli: release/resource/fingerprint.go). A director needs no upload of a part with an
 * equal fingerprint.
 */
export async function fingerprint(files: readonly ReleaseFile[], options: FingerprintOptions): Promise<string> {
  const sorted = files.toSorted((a, b) => compareBytes(a.name, b.name));
  const chunks = await Promise.all(sorted.map((file) => fingerprintFile(file, options.followLinks)));
  const dependencies = (options.dependencies ?? []).toSorted(compareBytes).join(',');
  return sha256(`v2${chunks.join('')}${dependencies}`);
}

async function fingerprintFile(file: ReleaseFile, followLinks: boolean): Promise<string> {
  const stat = await lstat(file.path);
  const asLink = stat.isSymbolicLink() && !followLinks;
  const digest = asLink ? `sha256:${sha256(await readlink(file.path))}` : await digestOfFile(file.path);
  if (file.ignoreMode === true) return `${file.name}${digest}`;
  return `${file.name}${digest}${asLink ? 'symlink' : gitMode(stat.mode)}`;
}

/** Returns the mode as git stores it: executable or not. */
function gitMode(mode: number): string {
  return (mode & 0o111) === 0 ? '100644' : '100755';
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
