import { lstat, mkdir, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { byBytes, packArchive } from '../archive/pack-archive.ts';
import type { ArchiveEntry } from '../archive/pack-archive.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { digestOfFile } from '../digest/verify-file.ts';
import { fingerprint } from './fingerprint.ts';
import type { ReleaseFile } from './fingerprint.ts';
import { readReleaseDirectory } from './release-directory.ts';
import type { ReleaseDirectory } from './release-directory.ts';

export interface PackReleaseOptions {
  /** A BOSH release directory: config/final.yml, jobs/, packages/, src/, blobs/. */
  readonly directory: string;
  /** Or what makes it of the fingerprints of all jobs, packages and the license. */
  readonly version: string | ((fingerprints: readonly string[]) => string);
  /** Written whole or not at all. */
  readonly outFile: string;
  /** Default `non-git`, uncommitted false. */
  readonly commit?: { readonly hash: string; readonly uncommittedChanges: boolean };
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

interface Part extends PackedReleasePart {
  /** For release.MF. */
  readonly references: readonly string[];
  readonly path: string;
}

/**
 * Makes the archive that `bosh create-release --tarball` makes, with the same fingerprints (bosh-cli:
 * release/archive_writer.go, release/resource/archive.go); the same input gives the same bytes on the same platform.
 * RELEASE_INVALID names what in the release directory is wrong.
 */
export async function packRelease(options: PackReleaseOptions): Promise<PackedRelease> {
  const source = await readReleaseDirectory(options.directory);
  // Beside the archive and under the same name each time: what a killed run left is replaced by the next.
  const staging = join(dirname(options.outFile), `.${basename(options.outFile)}.staging`);
  const within = dirname(options.outFile);
  await removeTree(staging, { within });
  await mkdir(staging, { mode: 0o700 });
  try {
    const parts = await packParts(source, staging);
    const { name } = source;
    const version = versionOf(options.version, parts);
    const content = releaseManifest({ ...options, name, version }, parts);
    const manifest = stringify(content, { version: '1.1', lineWidth: 0 });
    await packArchive(await archiveEntries(source, parts, manifest), options.outFile, { compression: 'stored' });
    return { name, version, jobs: parts.jobs.map(summary), packages: parts.packages.map(summary) };
  } finally {
    await removeTree(staging, { within });
  }
}

function summary({ name, fingerprint: print, digest }: Part): PackedReleasePart {
  return { name, fingerprint: print, digest };
}

function versionOf(version: PackReleaseOptions['version'], { jobs, packages, license }: Parts): string {
  if (typeof version === 'string') return version;
  return version([...jobs, ...packages, ...(license === undefined ? [] : [license])].map((part) => part.fingerprint));
}

interface Parts {
  readonly jobs: readonly Part[];
  readonly packages: readonly Part[];
  readonly license: Part | undefined;
}

async function packParts(source: ReleaseDirectory, staging: string): Promise<Parts> {
  const jobs: Part[] = [];
  const packages: Part[] = [];
  for (const { name, files, packages: references } of source.jobs) {
    const path = join(staging, `job-${name}.tgz`);
    jobs.push(await packPart({ name, files, references, path, followLinks: true, compress: true }));
  }
  for (const { name, files, dependencies: references, compress } of source.packages) {
    const path = join(staging, `package-${name}.tgz`);
    packages.push(await packPart({ name, files, references, path, followLinks: false, compress }));
  }
  if (source.license.length === 0) return { jobs, packages, license: undefined };
  const path = join(staging, 'license.tgz');
  const { license: files } = source;
  const license = await packPart({ name: 'license', files, references: [], path, followLinks: false, compress: true });
  return { jobs, packages, license };
}

interface PartSource {
  readonly name: string;
  readonly files: readonly ReleaseFile[];
  readonly references: readonly string[];
  readonly path: string;
  readonly followLinks: boolean;
  readonly compress: boolean;
}

async function packPart({ name, files, references, path, followLinks, compress }: PartSource): Promise<Part> {
  const dependencies = followLinks ? [] : references;
  const print = await fingerprint(files, { followLinks, dependencies });
  const entries = await Promise.all(files.map((file) => fileEntry(file, followLinks)));
  await packArchive(withFolders(entries), path, { compression: compress ? 'gzip' : 'none', isTemporary: true });
  return { name, fingerprint: print, digest: await digestOfFile(path), references, path };
}

async function fileEntry({ name, path }: ReleaseFile, followLinks: boolean): Promise<ArchiveEntry> {
  const stat = await lstat(path);
  const mode = (stat.mode & 0o100) === 0 ? 0o644 : 0o755;
  if (!stat.isSymbolicLink()) return { kind: 'file', name: `./${name}`, mode, path, size: stat.size };
  if (!followLinks) return { kind: 'symlink', name: `./${name}`, mode: 0o777, target: await readlink(path) };
  const target = await realpath(path);
  return { kind: 'file', name: `./${name}`, mode, path: target, size: (await lstat(target)).size };
}

/** Every folder once and before what it holds, as tar writes a staged folder. */
function withFolders(entries: readonly ArchiveEntry[]): readonly ArchiveEntry[] {
  const folders = new Set<string>(['./']);
  for (const { name } of entries) {
    for (let end = name.indexOf('/', 2); end !== -1; end = name.indexOf('/', end + 1)) folders.add(name.slice(0, end + 1));
  }
  const directories = [...folders].map((name): ArchiveEntry => ({ kind: 'directory', name, mode: 0o755 }));
  return [...directories, ...entries].toSorted((a, b) => byBytes(a.name, b.name));
}

function releaseManifest(
  { name, version, commit }: Pick<PackReleaseOptions, 'commit'> & { readonly name: string; readonly version: string },
  { jobs, packages, license }: Parts,
): Readonly<Record<string, unknown>> {
  const common = (part: Part): Readonly<Record<string, unknown>> => ({
    version: part.fingerprint,
    fingerprint: part.fingerprint,
    sha1: part.digest,
  });
  return {
    name,
    version,
    commit_hash: commit?.hash ?? 'non-git',
    uncommitted_changes: commit?.uncommittedChanges ?? false,
    ...(jobs.length === 0
      ? {}
      : { jobs: jobs.map((job) => ({ name: job.name, ...common(job), packages: job.references })) }),
    ...(packages.length === 0
      ? {}
      : { packages: packages.map((one) => ({ name: one.name, ...common(one), dependencies: one.references })) }),
    ...(license === undefined ? {} : { license: common(license) }),
    no_compression: false,
  };
}

/** release.MF first: a director reads it without unpacking the rest. */
async function archiveEntries(source: ReleaseDirectory, parts: Parts, manifest: string): Promise<readonly ArchiveEntry[]> {
  const group = async (folder: string, members: readonly Part[]): Promise<readonly ArchiveEntry[]> => {
    if (members.length === 0) return [];
    const files = await Promise.all(members.map(({ name, path }) => archived(`${folder}/${name}.tgz`, path)));
    return [{ kind: 'directory', name: `${folder}/`, mode: 0o755 }, ...files];
  };
  return [
    { kind: 'content', name: 'release.MF', mode: 0o644, content: manifest },
    ...(await group('jobs', parts.jobs)),
    ...(await group('packages', parts.packages)),
    ...(parts.license === undefined ? [] : [await archived('license.tgz', parts.license.path)]),
    ...(await Promise.all(source.license.map(({ name, path }) => archived(name, path)))),
  ];
}

async function archived(name: string, path: string): Promise<ArchiveEntry> {
  const real = await realpath(path);
  return { kind: 'file', name, mode: 0o644, path: real, size: (await lstat(real)).size };
}
