import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { packRelease } from '../../src/bosh/release/pack-release.ts';
import { fingerprint, type ReleaseFile } from '../../src/bosh/release/fingerprint.ts';
import { readReleaseManifest } from '../../src/bosh/release/release-manifest.ts';
import { unpackArchive } from '../../src/bosh/archive/unpack-archive.ts';
import { digestOfFile } from '../../src/bosh/digest.ts';
import { ConfigErrors, rootField } from '../../src/bosh/yaml/yaml-field.ts';
import { readYaml } from '../../src/bosh/yaml/parse-yaml.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import type { Difference } from './difference.ts';
import type { OpenedRelease } from './opened-release.ts';

const run = promisify(execFile);

export interface ComparedFingerprints {
  readonly compared: number;
  readonly differences: readonly Difference[];
  /** Why nothing was compared. */
  readonly note?: string;
}

/** Compares the fingerprints of an archive's content with those in its release.MF. */
export async function fingerprintsOfArchive(
  { jobs, packages }: OpenedRelease,
  scratch: string,
): Promise<ComparedFingerprints> {
  const differences: Difference[] = [];
  let compared = 0;
  const compare = (what: string, found: string, named: string): void => {
    // before 2019 fingerprints were SHA-1 sums of other input
    if (!/^[0-9a-f]{64}$/u.test(named)) return;
    compared += 1;
    if (found !== named) differences.push({ what, how: `fingerprint ${found}, in release.MF ${named}` });
  };
  for (const { name, directory, fingerprint: named = '' } of jobs) {
    const files = await filesOf(directory, []);
    compare(`job ${name}`, await fingerprint(files, { followLinks: true }), named);
  }
  for (const { name, archivePath, compiled, dependencies, fingerprint: named } of packages) {
    if (compiled) continue;
    const directory = join(scratch, 'packages', name);
    await unpackArchive(archivePath, directory);
    const files = await filesOf(directory, ['packaging']);
    compare(`package ${name}`, await fingerprint(files, { followLinks: false, dependencies }), named);
  }
  return { compared, differences };
}

async function filesOf(directory: string, ignoreMode: readonly string[]): Promise<readonly ReleaseFile[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const name = relative(directory, path);
      return { path, name, ignoreMode: ignoreMode.includes(name) };
    });
}

/**
 * Compares the fingerprints of a directory by our packer with those of `boshCli create-release`, in a copy of
 * it. Both get the same placeholders for blobs and vendored packages, which a source repository does not
 * have.
 */
export async function fingerprintsOfDirectory(
  path: string,
  { scratch, boshCli }: { readonly scratch: string; readonly boshCli: string },
): Promise<ComparedFingerprints> {
  const copy = join(scratch, 'copy');
  await cp(path, copy, { recursive: true, verbatimSymlinks: true });
  // earlier builds would be downloaded
  for (const built of ['.final_builds', '.dev_builds'])
    await rm(join(copy, built), { recursive: true, force: true });
  await replaceBlobs(copy);
  await replaceVendoredPackages(join(copy, 'packages'));
  const ours = await packedParts(copy, join(scratch, 'ours.tgz'));
  const theirs = await createdParts(copy, { scratch, boshCli });
  if (typeof ours === 'string') {
    if (typeof theirs === 'string')
      return { compared: 0, differences: [], note: `neither packs it: ${firstLine(ours)}` };
    return { compared: 0, differences: [{ what: 'create-release', how: `ours refuses it: ${ours}` }] };
  }
  if (typeof theirs === 'string')
    return { compared: 0, differences: [{ what: 'create-release', how: `bosh refuses it: ${theirs}` }] };
  const differences: Difference[] = [];
  for (const name of new Set([...ours.keys(), ...theirs.keys()])) {
    const [our = 'nothing', their = 'nothing'] = [ours.get(name), theirs.get(name)];
    if (our !== their) differences.push({ what: name, how: `fingerprint ${our}, bosh's ${their}` });
  }
  return { compared: theirs.size, differences };
}

/**
 * Shortens a long text: for a source repository without its submodules there is a line for each of their
 * files.
 */
function firstLine(text: string): string {
  const [first = '', ...more] = text.split('\n');
  return more.length === 0 ? first : `${first} (and ${more.length} more)`;
}

type Parts = ReadonlyMap<string, string>;

/** Returns the parts of the packed release, or the error of the directory. */
async function packedParts(directory: string, outFile: string): Promise<Parts | string> {
  try {
    return partsOf(await packRelease({ directory, version: '0', outFile }));
  } catch (error) {
    if (!isProductError(error)) throw error;
    return error.message;
  }
}

async function createdParts(
  directory: string,
  { scratch, boshCli }: { readonly scratch: string; readonly boshCli: string },
): Promise<Parts | string> {
  const tarball = join(scratch, 'theirs.tgz');
  const home = join(scratch, 'home');
  await mkdir(home);
  try {
    await run(
      boshCli,
      ['create-release', '--dir', directory, '--tarball', tarball, '--version', '0', '--force', '-n'],
      {
        env: { PATH: process.env['PATH'], HOME: home, GIT_CEILING_DIRECTORIES: scratch },
        maxBuffer: 1 << 26,
      },
    );
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    return stderr.trim().split('\n').slice(-6).join(' ');
  }
  const unpacked = join(scratch, 'theirs');
  await unpackArchive(tarball, unpacked, { only: (name) => name === 'release.MF' });
  return partsOf(await readReleaseManifest(unpacked));
}

interface Named {
  readonly name: string;
  readonly fingerprint: string;
}

const partsOf = ({ jobs, packages }: { jobs: readonly Named[]; packages: readonly Named[] }): Parts =>
  new Map([
    ...jobs.map(({ name, fingerprint: one }) => [`job ${name}`, one] as const),
    ...packages.map(({ name, fingerprint: one }) => [`package ${name}`, one] as const),
  ]);

/**
 * Creates placeholders for missing blobs, which a source repository does not have, and an index that names
 * them.
 */
async function replaceBlobs(directory: string): Promise<void> {
  const index = join(directory, 'config', 'blobs.yml');
  if (!(await exists(index))) return;
  const problems = new ConfigErrors();
  const blobs: Record<string, { size: number; sha: string }> = {};
  for (const [name] of rootField(await readYaml(index, 'RELEASE_INVALID'), problems).entries()) {
    const path = join(directory, 'blobs', name);
    if (relative(join(directory, 'blobs'), path).startsWith('..')) continue;
    if (!(await exists(path))) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, `in place of ${name}\n`);
    }
    blobs[name] = { size: (await stat(path)).size, sha: await digestOfFile(path) };
  }
  await writeFile(index, stringify(blobs));
}

/** Creates an empty package for each vendored package, because those exist only in the blobstore. */
async function replaceVendoredPackages(directory: string): Promise<void> {
  if (!(await exists(directory))) return;
  for (const name of await readdir(directory)) {
    const lock = join(directory, name, 'spec.lock');
    if (!(await exists(lock))) continue;
    await rm(lock);
    await writeFile(join(directory, name, 'spec'), stringify({ name, files: [] }));
    await writeFile(join(directory, name, 'packaging'), 'true\n');
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}
