import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { parsePathSegment, segmentProblem, type PathSegment } from '../../platform/path-segment.ts';
import { archivePathOf } from './archive-path.ts';
import type { GitState } from './git-state.ts';
import { LocalBlobstore } from './local-blobstore.ts';
import { PartStore } from './part-store.ts';
import { pathOutside, assertInsideRelease, readReleaseDirectory } from './release-directory.ts';
import { readReleaseConfig, type ReleaseConfig, syncBlobs } from './release-config.ts';
import { readReleaseManifestFile, type ReleaseManifest } from './release-manifest.ts';
import { ReleaseIndex } from './part-index.ts';
import { sourceParts, type PackedPart, type SourcePart } from './release-parts.ts';
import { compareReleaseVersions, formatReleaseVersion, nextDevVersion, nextFinalVersion } from './release-version.ts';
import { throwIfInterrupted } from '../../errors/throw-if-interrupted.ts';
import { formatReleaseManifest, writeReleaseArchive, type ReleaseDescription } from './pack-release.ts';

export interface CreateReleaseOptions {
  /** A BOSH release directory. */
  readonly directory: string;
  /** The name in config/final.yml by default. */
  readonly name?: PathSegment;
  /** The version after the last one by default. */
  readonly version?: PathSegment;
  /** Uses the time for a dev version, instead of a counter. */
  readonly timestampVersion?: boolean;
  readonly final?: boolean;
  /** Allows uncommitted changes, and creates the directory of a blobstore outside of the release. */
  readonly force?: boolean;
  /** The path of the archive to write. `((name))` and `((version))` in it are replaced. */
  readonly tarball?: string;
}

export interface CreateReleasePorts {
  /** The directory with the archives of parts, named by digest; the bosh CLI's is ~/.bosh/cache. */
  readonly cacheDirectory: string;
  readonly readGit: (directory: string) => Promise<GitState>;
  /** Makes the id of an entry in an index of versions. */
  readonly newId: () => string;
  /** Seconds since 1970. */
  readonly now: () => number;
  /** Shows a message to the operator. */
  readonly notice: (line: string) => void;
  /** Interrupts the work between two files. */
  readonly signal?: AbortSignal;
}

export interface CreatedRelease extends ReleaseDescription {
  readonly name: PathSegment;
  readonly version: PathSegment;
  readonly archivePath: string | undefined;
}

/**
 * Packs a release directory as `bosh create-release` does, and records the version in the same files:
 * dev_releases/ and .dev_builds/, or releases/, .final_builds/ and a local blobstore. The index entry is
 * written last, so that the next run uses or replaces what an interrupted run left. Throws
 * RELEASE_UNCOMMITTED, RELEASE_EXISTS and RELEASE_INVALID before anything is written.
 */
export async function createRelease(options: CreateReleaseOptions, ports: CreateReleasePorts): Promise<CreatedRelease> {
  const { directory } = options;
  const { git, name, version, index, archivePath, blobstore, noCompression } = await planRelease(options, ports);
  await syncBlobs(directory, blobstore);
  const source = await readReleaseDirectory(directory, ports.signal);
  const store = new PartStore({ directory, cacheDirectory: ports.cacheDirectory, blobstore });
  const build = (part: SourcePart): Promise<PackedPart> =>
    options.final === true && blobstore !== undefined ? store.finalize(part, blobstore) : store.build(part);
  const parts: PackedPart[] = [];
  for (const part of await sourceParts(source)) {
    throwIfInterrupted(ports.signal);
    parts.push(await build(part));
  }
  const origin = { commitHash: git.commitHash, uncommittedChanges: git.changes !== '' };
  const release = { name, version, ...origin, noCompression, parts };
  if (archivePath !== undefined) await writeReleaseArchive(release, source.license, archivePath);
  await index.add(name, version, formatReleaseManifest(release));
  return { ...release, archivePath };
}

/** Decides what to create, and makes all checks that are possible before the sources are read. */
async function planRelease(options: CreateReleaseOptions, ports: CreateReleasePorts) {
  const { directory } = options;
  const git = await ports.readGit(directory);
  if (git.changes !== '' && options.force !== true) throw uncommittedError(directory, git.changes);
  const config = await readReleaseConfig(directory);
  const name = options.name ?? segment(config.name);
  const indices = {
    dev: new ReleaseIndex(join(directory, 'dev_releases'), ports.newId),
    final: new ReleaseIndex(join(directory, 'releases'), ports.newId),
  };
  const index = options.final === true ? indices.final : indices.dev;
  const version = options.version ?? (await nextVersion(name, indices, options, ports.now));
  await assertInsideRelease(directory, dirname(index.manifestPath(name, version)));
  if (await index.contains(name, version)) throw exists(name, version, index.manifestPath(name, version));
  const archivePath = options.tarball && archivePathOf(options.tarball, name, version);
  const blobstore = await openBlobstore(config, options, ports);
  if (options.final === true && blobstore === undefined) throw noBlobstoreError(directory, config);
  return { git, name, version, index, archivePath, blobstore, noCompression: config.noCompression };
}

/**
 * Writes the archive of an existing version, from its manifest in dev_releases/ or releases/ and the archives
 * in the cache or a local blobstore. Throws RELEASE_INVALID with the part whose archive is not available.
 */
export async function packReleaseManifest(
  { directory, manifestPath, tarball }: { readonly directory: string; readonly manifestPath: string; readonly tarball?: string },
  ports: Pick<CreateReleasePorts, 'cacheDirectory' | 'notice'>,
): Promise<CreatedRelease> {
  const manifest = await readReleaseManifestFile(manifestPath);
  const blobstore = await openBlobstore(await readReleaseConfig(directory), { directory }, ports);
  const store = new PartStore({ directory, cacheDirectory: ports.cacheDirectory, blobstore });
  const parts: PackedPart[] = [];
  for (const part of manifestParts(manifest)) {
    const archive = await store.find(part);
    if (archive?.digest !== part.digest) throw archiveNotFoundError(manifestPath, part);
    parts.push({ ...part, ...archive });
  }
  const { name, version } = manifest;
  const archivePath = tarball && archivePathOf(tarball, name, version);
  const release = { ...manifest, parts };
  if (archivePath !== undefined) await writeReleaseArchive(release, [], archivePath);
  return { ...release, archivePath };
}

function manifestParts({ jobs, packages, license }: ReleaseManifest): readonly Omit<PackedPart, 'path'>[] {
  return [
    ...jobs.map(({ packages: references, ...job }) => ({ ...job, kind: 'job' as const, references })),
    ...packages.map(({ name, fingerprint, digest, dependencies }) => {
      return { name, fingerprint, digest, kind: 'package' as const, references: dependencies };
    }),
    ...(license === undefined ? [] : [{ ...license, kind: 'license' as const, name: segment('license'), references: [] }]),
  ];
}

interface Indices {
  readonly dev: ReleaseIndex;
  readonly final: ReleaseIndex;
}

async function nextVersion(
  name: PathSegment,
  indices: Indices,
  { final, timestampVersion }: CreateReleaseOptions,
  now: () => number,
): Promise<PathSegment> {
  const lastFinal = await indices.final.lastVersion(name);
  const lastDev = await indices.dev.lastVersion(name);
  const [last] = [lastDev, lastFinal]
    .filter((one) => one !== undefined)
    .toSorted((a, b) => compareReleaseVersions(b, a));
  const seconds = timestampVersion === true ? now() : undefined;
  const next = final === true ? nextFinalVersion(lastFinal) : nextDevVersion(last, seconds);
  if (next !== undefined) return segment(formatReleaseVersion(next));
  throw new ProductError('INVALID_ARGUMENT', `The last version of release '${name}' does not end in a number; set the next version with --version`);
}

/**
 * Opens the local blobstore. The release's author chose its directory, which is often outside of the release.
 * In that case the operator is told the path before it is read or written, and the directory is created only
 * with --force.
 */
async function openBlobstore(
  { blobstore }: ReleaseConfig,
  { directory, final, force }: Pick<CreateReleaseOptions, 'directory' | 'final' | 'force'>,
  { notice }: Pick<CreateReleasePorts, 'notice'>,
): Promise<LocalBlobstore | undefined> {
  if (blobstore?.localPath === undefined) return undefined;
  const path = blobstore.localPath;
  requireDirectory(path);
  if ((await pathOutside(directory, path)) === undefined) return new LocalBlobstore(path);
  if (final === true && force !== true && !existsSync(path)) throw noDirectory(path);
  return new LocalBlobstore(path, () => notice(`The release's blobstore is the folder '${path}', outside of the release`));
}

/**
 * Throws if the path, or its nearest existing parent, is not a directory. Otherwise storing a part would fail
 * with a system error.
 */
function requireDirectory(path: string): void {
  let at = path;
  while (statSync(at, { throwIfNoEntry: false }) === undefined) at = dirname(at);
  if (statSync(at).isDirectory()) return;
  throw new ProductError(
    'RELEASE_INVALID',
    `'${at}' of the release's blobstore is not a folder; name another blobstore_path in config/final.yml`,
  );
}

function noDirectory(path: string): ProductError {
  return new ProductError(
    'RELEASE_INVALID',
    `The folder '${path}' of the release's blobstore, outside of the release, does not exist; create it first, or use --force`,
  );
}

function segment(text: string): PathSegment {
  const parsed = parsePathSegment(text);
  if (parsed === undefined) throw new ProductError('RELEASE_INVALID', segmentProblem(text));
  return parsed;
}

function uncommittedError(directory: string, changes: string): ProductError {
  const lines = changes.split('\n');
  const more = lines.length > 10 ? [`and ${lines.length - 10} more`] : [];
  const shown = [...lines.slice(0, 10), ...more].join('\n');
  const message = `'${directory}' has uncommitted changes; commit them, or include them with --force:\n${shown}`;
  return new ProductError('RELEASE_UNCOMMITTED', message);
}

function exists(name: string, version: string, manifestPath: string): ProductError {
  return new ProductError(
    'RELEASE_EXISTS',
    `Release '${name}' version '${version}' already exists; use another --version, or pack the existing one with 'create-release ${manifestPath} --tarball FILE'`,
  );
}

function noBlobstoreError(directory: string, { blobstore }: ReleaseConfig): ProductError {
  const found = blobstore === undefined ? 'names none' : `names one of the provider '${blobstore.provider}'`;
  return new ProductError(
    'RELEASE_INVALID',
    `A final release needs a blobstore of the provider 'local', and '${join(directory, 'config', 'final.yml')}' ${found}; ` +
      'give it blobstore: {provider: local, options: {blobstore_path: FOLDER}}' +
      (blobstore === undefined ? '' : ", or run 'bosh create-release --final'"),
  );
}

function archiveNotFoundError(manifestPath: string, { kind, name, fingerprint, digest }: Omit<PackedPart, 'path'>): ProductError {
  return new ProductError(
    'RELEASE_INVALID',
    `${manifestPath}: the archive of ${kind} '${name}/${fingerprint}' with the digest ${digest} is neither in ~/.bosh/cache nor in a ` +
      "local blobstore; 'bosh create-release' downloads it from others",
  );
}
