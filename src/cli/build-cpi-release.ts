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
import { createRelease } from '../bosh/release/create-release.ts';
import type {
  CreatedRelease,
  CreateReleaseOptions,
  CreateReleasePorts,
} from '../bosh/release/create-release.ts';
import { digestOfFile } from '../bosh/digest/verify-file.ts';
import { ProductError } from '../errors/product-error.ts';
import { temporaryPath } from '../platform/draft.ts';
import { removeTree } from '../platform/remove-tree.ts';
import { replaceFile } from '../platform/replace-file.ts';

export interface CpiReleaseOptions extends Omit<CreateReleaseOptions, 'directory'> {
  /** The checkout. */
  readonly root: string;
  /**
   * Where the archive will be; `((name))` and `((version))` in it are replaced. Default: file:// and its
   * path.
   */
  readonly url?: string;
}

export interface CpiRelease {
  readonly release: CreatedRelease;
  /** YAML with the variables of manifests/bosh-deployment/cpi.yml. */
  readonly variables: string;
  /** File with that text, beside the archive. */
  readonly variablesPath: string;
  /** False where Bun could not be run to make the executable: the CPI then needs Node. */
  readonly hasExecutable: boolean;
}

/**
 * Packs the release directory `release` with the CPI's artefacts of the last build (dist/cpi) among its
 * sources, and the licences of what they hold, as create-release does; `bosh create-release --dir release`
 * then goes on with it. Writes the archive into dist/releases unless told otherwise.
 */
export async function buildCpiRelease(
  options: CpiReleaseOptions,
  ports: CreateReleasePorts,
): Promise<CpiRelease> {
  const { root, url, ...given } = options;
  const checkedUrl = url === undefined ? undefined : checkUrl(url);
  const directory = join(root, 'release');
  const names = await placeArtefacts(
    join(root, 'dist', 'cpi'),
    join(directory, 'src', 'bosh_kubernetes_cpi'),
  );
  // the licence of a release is in these files of its folder
  for (const name of ['LICENSE', 'NOTICE'])
    replaceFile(join(directory, name), readFileSync(join(root, 'dist', 'cpi', name), 'utf8'), 0o644);
  const releases = join(root, 'dist', 'releases');
  mkdirSync(releases, { recursive: true });
  const tarball = given.tarball ?? join(releases, '((name))-((version)).tgz');
  const release = await createRelease({ ...given, tarball, directory }, ports);
  const archivePath = resolve(release.archivePath ?? tarball);
  const variables = [
    ['url', locationOf(checkedUrl, release, archivePath)],
    ['sha1', await digestOfFile(archivePath)],
    ['version', release.version],
  ].map(([name, value]) => `kubernetes_cpi_release_${name}: ${JSON.stringify(value)}\n`);
  const variablesPath = join(dirname(archivePath), `${basename(archivePath).replace(/\.tgz$/u, '')}.yml`);
  replaceFile(variablesPath, variables.join(''), 0o644);
  return { release, variables: variables.join(''), variablesPath, hasExecutable: names.includes('cpi') };
}

/** The artefacts by link, and nothing else in the folder. */
async function placeArtefacts(from: string, to: string): Promise<readonly string[]> {
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

function checkUrl(text: string): string {
  const refuse = (why: string): ProductError => new ProductError('INVALID_ARGUMENT', `--url ${why}`);
  const parsed = URL.parse(text);
  if (parsed === null || !['http:', 'https:', 'file:'].includes(parsed.protocol))
    throw refuse('wants the URL of the archive, which begins with https://, http:// or file://');
  if (parsed.username !== '' || parsed.password !== '')
    throw refuse('has a user or a password in it, which would be printed; a director downloads without');
  return text;
}

function locationOf(url: string | undefined, release: CreatedRelease, archivePath: string): string {
  if (url === undefined) return `file://${archivePath}`;
  const encode = url.startsWith('file:') ? (text: string) => text : encodeURIComponent;
  return url.replaceAll('((name))', encode(release.name)).replaceAll('((version))', encode(release.version));
}
