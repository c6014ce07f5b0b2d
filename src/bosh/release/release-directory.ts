import { readdir, stat, realpath } from 'node:fs/promises';
import { basename, join, dirname } from 'node:path';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import type { PathSegment } from '../../platform/path-segment.ts';
import { compareBytes } from '../archive/pack-archive.ts';
import { verifyFile } from '../digest.ts';
import { ConfigErrors, rootField, type YamlField } from '../yaml/yaml-field.ts';
import { readYaml } from '../yaml/parse-yaml.ts';
import type { ReleaseFile } from './fingerprint.ts';
import { globFiles } from './glob.ts';
import { localPath, readJobSpec } from './release.ts';
import { existsSync, lstatSync } from 'node:fs';

interface SourcePackage {
  readonly name: PathSegment;
  readonly dependencies: readonly string[];
  /** The fingerprint of a vendored package (spec.lock), which has no files here. */
  readonly lockedFingerprint?: string;
  readonly files: readonly ReleaseFile[];
  readonly compress: boolean;
}

interface SourceJob {
  readonly name: PathSegment;
  readonly packages: readonly string[];
  readonly files: readonly ReleaseFile[];
}

/** The content of a release directory, as `bosh create-release` reads it. */
export interface ReleaseDirectory {
  readonly name: string;
  readonly jobs: readonly SourceJob[];
  readonly packages: readonly SourcePackage[];
  readonly license: readonly ReleaseFile[];
}

/**
 * Reads and checks a release directory (bosh-cli: release/dir_reader.go). Throws RELEASE_INVALID with a line
 * per error.
 */
export async function readReleaseDirectory(directory: string, signal?: AbortSignal): Promise<ReleaseDirectory> {
  const problems = new ConfigErrors();
  // Packages contain links as links, and their files are always below these directories.
  for (const root of ['packages', 'src', 'blobs']) await assertInsideRelease(directory, join(directory, root));
  const final = await readRoot(join(directory, 'config', 'final.yml'), problems);
  const name = final.get('name').isPresent ? final.get('name').requiredText() : final.get('final_name').requiredText();
  const packages: SourcePackage[] = [];
  for (const path of await directories(join(directory, 'packages'))) {
    packages.push(await readPackage(path, directory, { problems, signal }));
  }
  const known = packages.map((one) => one.name);
  checkDependencies(directory, packages, problems);
  const jobs: SourceJob[] = [];
  for (const path of await directories(join(directory, 'jobs'))) jobs.push(await readJob(path, known, problems));
  const license = await licenseFiles(directory);
  // For jobs and licenses the target of a link is packed.
  for (const { path } of [...jobs.flatMap(({ files }) => files), ...license]) await assertInsideRelease(directory, path);
  await checkBlobs(directory, problems);
  problems.throwIfAny('RELEASE_INVALID');
  return { name, jobs, packages, license };
}

function checkDependencies(directory: string, packages: readonly SourcePackage[], problems: ConfigErrors): void {
  const known = new Set<string>(packages.map(({ name }) => name));
  for (const { name, dependencies } of packages) {
    const position = { file: join(directory, 'packages', name, 'spec'), line: 1, column: 1 };
    for (const needed of dependencies)
      if (!known.has(needed)) problems.add(position, 'dependencies', `there is no package '${needed}' in the release`);
  }
}

interface Reading {
  readonly problems: ConfigErrors;
  readonly signal: AbortSignal | undefined;
}

async function readPackage(path: string, directory: string, reading: Reading): Promise<SourcePackage> {
  const { problems } = reading;
  const lock = join(path, 'spec.lock');
  if (await isFile(lock)) return readVendoredPackage(await readRoot(lock, problems));
  const spec = await readRoot(join(path, 'spec'), problems);
  const name = spec.get('name').requiredSegment();
  if (await isFile(join(path, 'pre_packaging')))
    spec.problem("pre_packaging is not supported, as it runs a script of the release on this machine; use 'bosh create-release'");
  const packaging = join(path, 'packaging');
  if (!(await isFile(packaging))) spec.problem(`expected to find '${packaging}' for package '${name}'`);
  const roots = [join(directory, 'src'), join(directory, 'blobs')];
  const sources = await packageFiles(spec, roots, reading.signal);
  if (sources.has('packaging')) spec.get('files').problem("the special file 'packaging' cannot be included");
  const files = [...sources].map(([file, source]) => ({ name: file, path: source }));
  return {
    name,
    dependencies: spec.get('dependencies').texts(),
    files: [{ name: 'packaging', path: packaging, ignoreMode: true }, ...files],
    compress: spec.get('no_compression').boolean() !== true,
  };
}

function readVendoredPackage(lock: YamlField): SourcePackage {
  return {
    name: lock.get('name').requiredSegment(),
    dependencies: lock.get('dependencies').texts(),
    lockedFingerprint: lock.get('fingerprint').requiredSegment(),
    files: [],
    compress: true,
  };
}

/** Returns the source files by their path in the package. If src and blobs have the same path, src wins. */
async function packageFiles(
  spec: YamlField,
  roots: readonly string[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const pattern of spec.get('files').items()) {
    const text = pattern.requiredText();
    const before = found.size;
    let matches = 0;
    for (const root of roots) {
      for (const path of await globFiles(root, text, signal)) {
        matches += 1;
        if (!found.has(path)) found.set(path, join(root, path));
      }
    }
    if (matches === 0 && found.size === before) pattern.problem(`no file in src or blobs matches '${text}'`);
  }
  for (const pattern of spec.get('excluded_files').texts()) {
    for (const root of roots) for (const path of await globFiles(root, pattern, signal)) found.delete(path);
  }
  return found;
}

async function readJob(path: string, packages: readonly string[], problems: ConfigErrors): Promise<SourceJob> {
  const root = await readRoot(join(path, 'spec'), problems);
  const spec = readJobSpec(root);
  if (spec.name !== basename(path)) root.get('name').problem(`must be '${basename(path)}', the name of its folder`);
  for (const name of spec.packages) {
    if (!packages.includes(name)) root.get('packages').problem(`there is no package '${name}' in the release`);
  }
  const files: ReleaseFile[] = [{ name: 'job.MF', path: join(path, 'spec') }];
  for (const name of ['monit', 'properties_schema.json']) {
    if (await isFile(join(path, name))) files.push({ name, path: join(path, name) });
  }
  for (const { source } of spec.templates) {
    const template = join(path, 'templates', source);
    if (!(await isFile(template))) root.get('templates').problem(`there is no file '${template}'`);
    files.push({ name: `templates/${source}`, path: template });
  }
  return { name: spec.name, packages: spec.packages, files };
}

/**
 * Checks that every blob of config/blobs.yml exists with its digest. Other files in blobs/ may be built
 * locally and are accepted.
 */
async function checkBlobs(directory: string, problems: ConfigErrors): Promise<void> {
  const index = join(directory, 'config', 'blobs.yml');
  if (!(await isFile(index))) return;
  for (const [name, blob] of (await readRoot(index, problems)).entries()) {
    try {
      await verifyFile(join(directory, 'blobs', localPath(name, blob)), blob.get('sha').requiredText());
    } catch (error) {
      if (!isProductError(error)) throw error;
      blob.problem(`${error.message} ('bosh sync-blobs' downloads it)`);
    }
  }
}

async function licenseFiles(directory: string): Promise<readonly ReleaseFile[]> {
  const names = (await readdir(directory)).filter((name) => /^(LICENSE|NOTICE)/.test(name)).toSorted(compareBytes);
  return names.map((name) => ({ name, path: join(directory, name), ignoreMode: true }));
}

async function readRoot(path: string, problems: ConfigErrors): Promise<YamlField> {
  return rootField(await readYaml(path, 'RELEASE_INVALID'), problems);
}

/** Returns the directories in a directory, sorted; none if it does not exist. */
async function directories(path: string): Promise<readonly string[]> {
  const names = await readdir(path).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  });
  const paths = names.toSorted(compareBytes).map((name) => join(path, name));
  const kinds = await Promise.all(paths.map(async (one) => (await stat(one)).isDirectory()));
  return paths.filter((_, index) => kinds[index]);
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  return found?.isFile() === true;
}

/**
 * Throws RELEASE_INVALID if a symbolic link in a release directory leads a path out of it and out of its git
 * repository. Otherwise a malicious release could have the operator's files packed or overwritten. For a path
 * that does not exist, its nearest existing parent is checked.
 */
export async function assertInsideRelease(directory: string, path: string): Promise<void> {
  const found = await pathOutside(directory, path);
  if (found === undefined) return;
  throw new ProductError(
    'RELEASE_INVALID',
    `'${path}' leads out of the release, to '${found}', through a symbolic link; replace the link with a copy`,
  );
}

/**
 * Returns the real path if it is outside of the release and of its git repository. For a path that does not
 * exist, its nearest existing parent is checked. Throws RELEASE_INVALID for a dangling link in the path,
 * because its target decides what is written.
 */
export async function pathOutside(directory: string, path: string): Promise<string | undefined> {
  const boundary = await releaseRoot(directory);
  const found = await realpathOfExisting(path);
  return found === boundary || found.startsWith(join(boundary, '/')) ? undefined : found;
}

async function releaseRoot(directory: string): Promise<string> {
  const own = await realpath(directory);
  for (let at = own; at !== dirname(at); at = dirname(at)) if (existsSync(join(at, '.git'))) return at;
  return own;
}

async function realpathOfExisting(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      throw new ProductError(
        'RELEASE_INVALID',
        `'${path}' is a symbolic link without a target; create the target, or remove the link`,
      );
    return realpathOfExisting(dirname(path));
  }
}
