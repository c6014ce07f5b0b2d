import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  dependenciesOf,
  packagesInOrder,
  type Release,
  type ReleasePackage,
} from '../../bosh/release/release.ts';
import { unpackArchive } from '../../bosh/archive/unpack-archive.ts';
import { ProductError } from '../../errors/product-error.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { dependencyKey } from '../package/compiled-package-cache.ts';
import type { ChildWatch } from '../process/leftover-process.ts';
import { isSystemError, runProgram } from '../../platform/run-program.ts';
import type { Stage } from '../stage/stage.ts';
import type { InstallationDirectory } from './installation-directory.ts';
import { InstalledPackages, type PackageKey } from './installed-packages.ts';

/** The directory for installed packages, and the environment of their packaging scripts. */
export interface PackageInstallation {
  readonly directory: InstallationDirectory;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal | undefined;
  readonly children: ChildWatch;
}

/** A release and the names of the packages that its CPI jobs need. */
export interface RequiredPackages {
  readonly release: Release;
  readonly names: readonly string[];
}

/**
 * Compiles the packages that the CPI's jobs need into the packages directory, which then contains exactly
 * these. Packages of an earlier run are reused.
 */
export async function installPackages(
  installation: PackageInstallation,
  stage: Stage,
  needed: readonly RequiredPackages[],
): Promise<void> {
  const installed = await InstalledPackages.open(installation.directory.index);
  const requested = needed.flatMap(({ release, names }) =>
    packagesInOrder(release, names).map((candidate) => ({
      source: candidate,
      key: keyOf(release, candidate),
    })),
  );
  assertUniqueNames(requested.map(({ key }) => key));
  for (const { source, key } of requested) {
    await stage.perform(`Compiling package '${key.name}/${key.fingerprint}'`, async (step) => {
      if (source.compiled) step.skip('Package already compiled');
      if (!installed.has(key)) await install(installation, installed, source, key);
    });
  }
  const names = new Set(requested.map(({ key }) => key.name));
  await stage.perform('Installing packages', () => removeOthers(installation, installed, names));
}

/**
 * Leaves only the packages that this CPI needs, because its scripts would find the packages of a previous
 * version.
 */
async function removeOthers(
  { directory }: PackageInstallation,
  installed: InstalledPackages,
  names: ReadonlySet<string>,
): Promise<void> {
  for (const name of await readdir(directory.packages)) {
    if (names.has(name)) continue;
    await installed.forget(name);
    await removeTree(join(directory.packages, name), { within: directory.installations });
  }
}

function keyOf(release: Release, { name, fingerprint }: ReleasePackage): PackageKey {
  return { name, fingerprint, dependencyKey: dependencyKey(dependenciesOf(release, name)) };
}

function assertUniqueNames(keys: readonly PackageKey[]): void {
  const clash = keys.find((key, index) =>
    keys
      .slice(0, index)
      .some(({ name, fingerprint }) => name === key.name && fingerprint !== key.fingerprint),
  );
  if (clash === undefined) return;
  throw new ProductError(
    'RELEASE_INVALID',
    `Two releases of cloud_provider have different packages named '${clash.name}'`,
  );
}

async function install(
  installation: PackageInstallation,
  installed: InstalledPackages,
  source: ReleasePackage,
  key: PackageKey,
): Promise<void> {
  const { packages, installations } = installation.directory;
  const target = join(packages, source.name);
  await installed.forget(key.name);
  await removeTree(target, { within: installations });
  const { archivePath, digest } = source;
  if (source.compiled) await unpackArchive(archivePath, target, { digest });
  else await compile(installation, source, target);
  await installed.add(key);
}

/** Compiles the package at its final path, because a package may record the path that it was built for. */
async function compile(
  installation: PackageInstallation,
  source: ReleasePackage,
  target: string,
): Promise<void> {
  const { directory, environment, signal, children } = installation;
  const unpacked = join(directory.temporary, 'compile', source.name);
  await unpackArchive(source.archivePath, unpacked, { digest: source.digest });
  await mkdir(target, { recursive: true });
  await runPackaging({
    name: source.name,
    source: unpacked,
    target,
    packagesDirectory: directory.packages,
    environment,
    signal,
    children,
  });
  await removeTree(unpacked, { within: directory.installations });
}

export interface PackagingRequest {
  readonly name: string;
  /** The directory with the unpacked source, which contains the script `packaging`. */
  readonly source: string;
  readonly target: string;
  readonly packagesDirectory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal | undefined;
  readonly children: ChildWatch;
}

/**
 * Runs a package's `packaging` script on this machine as bosh does (bosh-cli installation/pkg/compiler.go).
 */
export async function runPackaging(request: PackagingRequest): Promise<void> {
  const { name, source, target, packagesDirectory, children } = request;
  const result = await runProgram({
    file: 'bash',
    args: ['-x', 'packaging'],
    directory: source,
    environment: {
      ...request.environment,
      BOSH_COMPILE_TARGET: source,
      BOSH_INSTALL_TARGET: target,
      BOSH_PACKAGE_NAME: name,
      BOSH_PACKAGES_DIR: packagesDirectory,
    },
    signal: request.signal,
    onStart: (pid) => children.onStart(pid, { doing: `packaging of '${name}'`, disposable: true }),
  }).catch((error: unknown) => {
    if (!isSystemError(error)) throw error;
    throw new ProductError('INSTALLATION_FAILED', `Compiling package '${name}' needs bash on PATH`, {
      cause: error,
    });
  });
  if (result.stopped === 'interrupt') {
    throw new ProductError(
      'INTERRUPTED',
      `Compiling package '${name}' was interrupted; the next run starts it again`,
    );
  }
  if (result.exitCode === 0) return;
  const end =
    result.exitCode === undefined
      ? `signal ${result.killedBy ?? 'unknown'}`
      : `exit status ${result.exitCode}`;
  const lastLines = result.stderr.trimEnd().split('\n').slice(-20).join('\n');
  throw new ProductError(
    'INSTALLATION_FAILED',
    `Compiling package '${name}': 'bash -x packaging' ended with ${end}, stderr: '${lastLines}'`,
  );
}
