import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { digestOfFile } from '../bosh/digest.ts';
import {
  createRelease,
  type CreatedRelease,
  type CreateReleaseOptions,
  type CreateReleasePorts,
} from '../bosh/release/create-release.ts';
import { ProductError } from '../errors/product-error.ts';
import { temporaryPath, replaceFile } from '../platform/durable-file.ts';
import { removeTree } from '../platform/remove-tree.ts';

export interface CpiReleaseOptions extends Omit<CreateReleaseOptions, 'directory'> {
  /** The directory of the checkout. */
  readonly root: string;
  /**
   * The URL of the archive, in which `((name))` and `((version))` are replaced. The default is file:// and
   * the archive's path.
   */
  readonly url?: string;
}

export interface CpiRelease {
  readonly release: CreatedRelease;
  /** The variables of manifests/bosh-deployment/cpi.yml, as YAML. */
  readonly variables: string;
  /** The file with `variables`, beside the archive. */
  readonly variablesPath: string;
  /** False if the executable could not be built because Bun does not run here. The CPI then needs Node. */
  readonly hasExecutable: boolean;
}

/**
 * Packs the release directory `release` like create-release. Its sources get the CPI's artefacts of the last
 * build (dist/cpi) and the licences of what these contain; `bosh create-release --dir release` also works
 * afterwards. Writes the archive into dist/releases unless the options name another directory.
 */
export async function buildCpiRelease(
  options: CpiReleaseOptions,
  ports: CreateReleasePorts,
): Promise<CpiRelease> {
  const { root, url, ...given } = options;
  if (url !== undefined) checkUrl(url);
  const directory = join(root, 'release');
  const names = await copyArtefacts(join(root, 'dist', 'cpi'), join(directory, 'src', 'bosh_kubernetes_cpi'));
  // A release's licence is in these files of its directory.
  for (const name of ['LICENSE', 'NOTICE'])
    replaceFile(join(directory, name), readFileSync(join(root, 'dist', 'cpi', name), 'utf8'), 0o644);
  const releases = join(root, 'dist', 'releases');
  mkdirSync(releases, { recursive: true });
  const tarball = given.tarball ?? join(releases, '((name))-((version)).tgz');
  const release = await createRelease({ ...given, tarball, directory }, ports);
  const archivePath = resolve(release.archivePath ?? tarball);
  const written = await writeVariables(release, archivePath, url);
  return { release, ...written, hasExecutable: names.includes('cpi') };
}

/**
 * Writes the variables of manifests/bosh-deployment/cpi.yml for an archive of the CPI's release into a file
 * beside the archive. Throws INVALID_ARGUMENT if the URL of the archive is invalid.
 */
export async function writeVariables(
  release: ReleaseName,
  archivePath: string,
  url?: string,
): Promise<Pick<CpiRelease, 'variables' | 'variablesPath'>> {
  const variables = [
    ['url', locationOf(url === undefined ? undefined : checkUrl(url), release, archivePath)],
    ['sha1', await digestOfFile(archivePath)],
    ['version', release.version],
  ]
    .map(([name, value]) => `kubernetes_cpi_release_${name}: ${JSON.stringify(value)}\n`)
    .join('');
  const variablesPath = join(dirname(archivePath), `${basename(archivePath).replace(/\.tgz$/u, '')}.yml`);
  replaceFile(variablesPath, variables, 0o644);
  return { variables, variablesPath };
}

interface ReleaseName {
  readonly name: string;
  readonly version: string;
}

/** Links the artefacts into the directory and removes everything else from it. Returns their names. */
async function copyArtefacts(from: string, to: string): Promise<readonly string[]> {
  const names = ['cpi.cjs', 'cpi'].filter((name) => existsSync(join(from, name)));
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(to)) await removeTree(join(to, name), { within: to });
  for (const name of names) {
    const draft = temporaryPath(join(to, name));
    linkOrCopy(join(from, name), draft);
    renameSync(draft, join(to, name));
  }
  return names;
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EXDEV')) throw error;
    copyFileSync(from, to);
  }
}

/** Returns the URL. Throws INVALID_ARGUMENT if a director cannot download from it. */
export function checkUrl(text: string): string {
  const refuse = (why: string): ProductError => new ProductError('INVALID_ARGUMENT', `--url ${why}`);
  const parsed = URL.parse(text);
  if (parsed === null || !['http:', 'https:', 'file:'].includes(parsed.protocol))
    throw refuse('needs the URL of the archive, which begins with https://, http:// or file://');
  if (parsed.username !== '' || parsed.password !== '')
    throw refuse('contains a user or a password, which would be printed; a director downloads without them');
  return text;
}

function locationOf(url: string | undefined, release: ReleaseName, archivePath: string): string {
  if (url === undefined) return `file://${archivePath}`;
  const encode = url.startsWith('file:') ? (text: string) => text : encodeURIComponent;
  return url.replaceAll('((name))', encode(release.name)).replaceAll('((version))', encode(release.version));
}
