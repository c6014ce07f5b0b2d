import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { throwIfInterrupted } from '../../errors/throw-if-interrupted.ts';
import type { PathSegment } from '../../platform/path-segment.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { ByteBudget, archiveLimits, type ArchiveLimits } from '../archive/archive-limits.ts';
import { unpackArchive } from '../archive/unpack-archive.ts';
import { verifyFile } from '../digest.ts';
import { ConfigErrors, rootField } from '../yaml/yaml-field.ts';
import { readYaml } from '../yaml/parse-yaml.ts';
import { readJobSpec, type JobSpec, type Release, type ReleaseJob, type ReleasePackage } from './release.ts';
import { readReleaseManifest, type PackagePart, type ReleaseManifest, type ReleasePart } from './release-manifest.ts';

export interface OpenReleaseOptions {
  readonly archivePath: string;
  /** The verified digest of the archive. It is verified again while unpacking. */
  readonly digest?: string | undefined;
  /** Created if it does not exist; its content is replaced. The caller removes it. */
  readonly directory: string;
  /**
   * The directory that must contain `directory`. Otherwise PATH_OUTSIDE is thrown, so that nothing outside of
   * it is removed.
   */
  readonly within: string;
  /** archiveLimits by default. Tests may lower them. */
  readonly limits?: ArchiveLimits;
  /** Interrupts the work between two parts. */
  readonly signal?: AbortSignal;
}

/**
 * Unpacks and verifies a release archive (bosh-cli: release/archive_reader.go; the bosh CLI does not verify
 * the digests inside). Throws RELEASE_INVALID, ARCHIVE_INVALID or FILE_NOT_FOUND with the archive, the file
 * in it and the digests.
 */
export async function openRelease({
  archivePath,
  digest,
  directory,
  within: position,
  limits = archiveLimits,
  signal,
}: OpenReleaseOptions): Promise<Release> {
  await removeTree(directory, { within: position });
  await mkdir(directory, { recursive: true });
  await unpackArchive(archivePath, directory, { digest, budget: new ByteBudget(limits) });
  return within(archivePath, async () => {
    const manifest = await readReleaseManifest(directory);
    // One after another, because a release of a few kilobytes can list many thousands.
    const packages: ReleasePackage[] = [];
    for (const part of manifest.packages) {
      throwIfInterrupted(signal);
      packages.push(await openPackage(part, directory));
    }
    const budget = new ByteBudget({ ...limits, total: limits.jobs });
    const jobs: ReleaseJob[] = [];
    for (const part of manifest.jobs) {
      throwIfInterrupted(signal);
      jobs.push(await openJob(part, directory, budget));
    }
    checkReferences(manifest);
    return { name: manifest.name, version: manifest.version, jobs, packages };
  });
}

async function openPackage(part: PackagePart, directory: string): Promise<ReleasePackage> {
  const archivePath = join(directory, part.compiled ? 'compiled_packages' : 'packages', `${part.name}.tgz`);
  await verifyFile(archivePath, part.digest);
  return { ...part, archivePath };
}

async function openJob(
  part: ReleasePart & { readonly packages: readonly PathSegment[] },
  releaseDirectory: string,
  budget: ByteBudget,
): Promise<ReleaseJob> {
  const archivePath = join(releaseDirectory, 'jobs', `${part.name}.tgz`);
  const directory = join(releaseDirectory, 'unpacked-jobs', part.name);
  await unpackArchive(archivePath, directory, { digest: part.digest, budget });
  const spec = await readSpec(join(directory, 'job.MF'));
  const packages = part.packages.length > 0 ? part.packages : spec.packages;
  return { name: part.name, fingerprint: part.fingerprint, directory, spec, packages };
}

async function readSpec(path: string): Promise<JobSpec> {
  const problems = new ConfigErrors();
  const spec = readJobSpec(rootField(await readYaml(path, 'RELEASE_INVALID'), problems));
  problems.throwIfAny('RELEASE_INVALID');
  return spec;
}

/** Throws RELEASE_INVALID if a job or package needs a package that is not in the release. */
function checkReferences({ packages, jobs }: ReleaseManifest): void {
  const names = new Set(packages.map(({ name }) => name));
  const missing = [
    ...jobs.flatMap((job) => job.packages.map((name) => ({ name, user: `job '${job.name}'` }))),
    ...packages.flatMap((one) => one.dependencies.map((name) => ({ name, user: `package '${one.name}'` }))),
  ].filter(({ name }) => !names.has(name));
  if (missing.length === 0) return;
  const problems = missing.map(({ name, user }) => `${user} needs package '${name}', which is not in the release`);
  throw new ProductError('RELEASE_INVALID', problems.join('\n'));
}

/** Adds the archive's name to errors, because the paths of unpacked files mean nothing to the operator. */
async function within<T>(archivePath: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof ProductError)) throw error;
    throw new ProductError(error.code, `Release '${archivePath}': ${error.message}`, { cause: error });
  }
}
