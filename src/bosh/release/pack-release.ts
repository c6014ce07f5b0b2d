import { mkdir, lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { throwIfInterrupted } from '../../errors/throw-if-interrupted.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { digestOfFile } from '../digest.ts';
import { readReleaseDirectory } from './release-directory.ts';
import { packPart, sourceParts, type PackedPart, type SourcePart, type PartKind } from './release-parts.ts';
import { stringify } from 'yaml';
import { packArchive, type ArchiveEntry } from '../archive/pack-archive.ts';
import type { ReleaseFile } from './fingerprint.ts';

export interface PackReleaseOptions {
  /** A BOSH release directory: config/final.yml, jobs/, packages/, src/, blobs/. */
  readonly directory: string;
  /** The version, or a function that makes it from the fingerprints of all jobs, packages and the license. */
  readonly version: string | ((fingerprints: readonly string[]) => string);
  /** The archive appears complete or not at all. */
  readonly outFile: string;
  /** The origin that release.MF names; by default a directory outside of git. */
  readonly origin?: ReleaseOrigin;
  /** Interrupts the work between two parts. */
  readonly signal?: AbortSignal;
}

export interface ReleaseOrigin {
  readonly commitHash: string;
  readonly uncommittedChanges: boolean;
}

interface PackedReleasePart {
  readonly name: string;
  readonly fingerprint: string;
  readonly digest: string;
}

export interface PackedRelease {
  readonly name: string;
  readonly version: string;
  readonly jobs: readonly PackedReleasePart[];
  readonly packages: readonly PackedReleasePart[];
}

/**
 * Creates the archive of `bosh create-release --tarball`, with the same fingerprints, but without an index.
 * The same input gives the same bytes on the same platform. Throws RELEASE_INVALID if the release directory
 * is invalid.
 */
export async function packRelease(options: PackReleaseOptions): Promise<PackedRelease> {
  const source = await readReleaseDirectory(options.directory);
  // The staging directory is beside the archive and has a fixed name, so that the next run replaces what an
  // interrupted run left.
  const staging = join(dirname(options.outFile), `.${basename(options.outFile)}.staging`);
  const within = dirname(options.outFile);
  await removeTree(staging, { within });
  await mkdir(staging, { mode: 0o700 });
  try {
    const parts: PackedPart[] = [];
    for (const part of await sourceParts(source)) {
      throwIfInterrupted(options.signal);
      parts.push(await packInto(staging, part));
    }
    throwIfInterrupted(options.signal);
    const { name } = source;
    const { version: given } = options;
    const version = typeof given === 'string' ? given : given(parts.map((part) => part.fingerprint));
    const { origin = { commitHash: 'non-git', uncommittedChanges: false } } = options;
    const release = { name, version, ...origin, noCompression: false, parts };
    await writeReleaseArchive(release, source.license, options.outFile);
    return {
      name,
      version,
      jobs: parts.filter(({ kind }) => kind === 'job'),
      packages: parts.filter(({ kind }) => kind === 'package'),
    };
  } finally {
    await removeTree(staging, { within });
  }
}

async function packInto(staging: string, { content, ...part }: SourcePart): Promise<PackedPart> {
  if (content === undefined) throw vendored(part);
  const path = join(staging, `${part.kind}-${part.name}.tgz`);
  await packPart(part, content, { path, isTemporary: true });
  return { ...part, path, digest: await digestOfFile(path) };
}

function vendored({ name, fingerprint }: Pick<SourcePart, 'name' | 'fingerprint'>): ProductError {
  return new ProductError(
    'RELEASE_INVALID',
    `Package '${name}' has a spec.lock: its archive ${fingerprint} is in an index; use 'bosh-kubernetes create-release'`,
  );
}

export interface ReleaseDescription extends ReleaseOrigin {
  readonly name: string;
  readonly version: string;
  /** If true, the archive of the release is a plain tar. */
  readonly noCompression: boolean;
  readonly parts: readonly PackedPart[];
}

/** Returns the text of release.MF, which is also written to dev_releases/ or releases/. */
export function formatReleaseManifest(release: ReleaseDescription): string {
  const ofKind = (partKind: PartKind): readonly PackedPart[] => release.parts.filter(({ kind }) => kind === partKind);
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
  const group = async (kind: PartKind, directory: string): Promise<readonly ArchiveEntry[]> => {
    const members = release.parts.filter((part) => part.kind === kind);
    if (members.length === 0) return [];
    const files = await Promise.all(members.map(({ name, path }) => archived(`${directory}/${name}.tgz`, path)));
    return [{ kind: 'directory', name: `${directory}/`, mode: 0o755 }, ...files];
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
