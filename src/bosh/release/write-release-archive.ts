import { lstat, realpath } from 'node:fs/promises';
import { stringify } from 'yaml';
import { packArchive } from '../archive/pack-archive.ts';
import type { ArchiveEntry } from '../archive/pack-archive.ts';
import type { ReleaseFile } from './fingerprint.ts';
import type { PackedPart, PartKind } from './release-parts.ts';

export interface ReleaseDescription {
  readonly name: string;
  readonly version: string;
  readonly commitHash: string;
  readonly uncommittedChanges: boolean;
  /** If true, the archive of the release is a plain tar. */
  readonly noCompression: boolean;
  readonly parts: readonly PackedPart[];
}

/** Returns the text of release.MF, which is also written to dev_releases/ or releases/. */
export function formatReleaseManifest(release: ReleaseDescription): string {
  const ofKind = (wanted: PartKind): readonly PackedPart[] => release.parts.filter(({ kind }) => kind === wanted);
  const common = (part: PackedPart): Readonly<Record<string, unknown>> => ({
    version: part.fingerprint,
    fingerprint: part.fingerprint,
    sha1: part.digest,
  });
  const jobs = ofKind('job').map((part) => ({ name: part.name, ...common(part), packages: part.references }));
  const packages = ofKind('package').map((part) => ({ name: part.name, ...common(part), dependencies: part.references }));
  const [license] = ofKind('license');
  const content = {
    name: release.name,
    version: release.version,
    commit_hash: release.commitHash,
    uncommitted_changes: release.uncommittedChanges,
    ...(jobs.length === 0 ? {} : { jobs }),
    ...(packages.length === 0 ? {} : { packages }),
    ...(license === undefined ? {} : { license: common(license) }),
    no_compression: release.noCompression,
  };
  return stringify(content, { version: '1.1', lineWidth: 0, indentSeq: false });
}

/** Writes the archive, completely or not at all (bosh-cli: release/archive_writer.go). */
export async function writeReleaseArchive(
  release: ReleaseDescription,
  license: readonly ReleaseFile[],
  outFile: string,
): Promise<void> {
  const entries = await archiveEntries(release, license);
  await packArchive(entries, outFile, { compression: release.noCompression ? 'none' : 'stored' });
}

/**
 * Returns the entries of the archive. release.MF is first, so that a director can read it without unpacking
 * the rest.
 */
async function archiveEntries(
  release: ReleaseDescription,
  license: readonly ReleaseFile[],
): Promise<readonly ArchiveEntry[]> {
  const group = async (kind: PartKind, folder: string): Promise<readonly ArchiveEntry[]> => {
    const members = release.parts.filter((part) => part.kind === kind);
    if (members.length === 0) return [];
    const files = await Promise.all(members.map(({ name, path }) => archived(`${folder}/${name}.tgz`, path)));
    return [{ kind: 'directory', name: `${folder}/`, mode: 0o755 }, ...files];
  };
  const licenses = release.parts.filter(({ kind }) => kind === 'license');
  return [
    { kind: 'content', name: 'release.MF', mode: 0o644, content: formatReleaseManifest(release) },
    ...(await group('job', 'jobs')),
    ...(await group('package', 'packages')),
    ...(await Promise.all(licenses.map(({ path }) => archived('license.tgz', path)))),
    ...(await Promise.all(license.map(({ name, path }) => archived(name, path)))),
  ];
}

async function archived(name: string, path: string): Promise<ArchiveEntry> {
  const real = await realpath(path);
  return { kind: 'file', name, mode: 0o644, path: real, size: (await lstat(real)).size };
}
