import { createHash, randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Directories } from '../directories.ts';
import { DirectoryHandle, removeTree } from '../file/directory-handle.ts';
import { errorCode } from '../file/error-code.ts';
import { exists, readLinkIfPresent, replaceLink } from '../file/files.ts';
import { chownToVcap, type Identities } from '../user/identities.ts';
import type { ApplySpec, JobSpec, PackageSpec } from './spec.ts';

const partialPrefix = '.partial-';

/** One version of a job or package, with the directory where it is installed. */
export class Bundle {
  readonly name: string;
  readonly installPath: string;

  constructor(name: string, installPath: string) {
    this.name = name;
    this.installPath = installPath;
  }

  /** Returns true if the bundle exists. A bundle exists only as a whole. */
  async isInstalled(): Promise<boolean> {
    try {
      return (await lstat(this.installPath)).isDirectory();
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return false;
      throw error;
    }
  }

  /**
   * Installs the bundle unless it exists. `populate` gets an empty directory, which becomes the bundle in one
   * step.
   */
  async install(populate: (directory: string) => Promise<void>): Promise<void> {
    if (await this.isInstalled()) return;
    const partial = join(this.installPath, '..', `${partialPrefix}${randomUUID()}`);
    await mkdir(partial, { recursive: true, mode: 0o755 });
    try {
      await populate(partial);
      await rename(partial, this.installPath);
    } catch (error) {
      await removeTree(partial);
      throw error;
    }
  }
}

/** The bundles of one spec. */
export interface SpecBundles {
  readonly jobs: readonly Bundle[];
  readonly packages: readonly Bundle[];
}

/**
 * The installed versions of all jobs and packages of the VM, and the links in jobs/ and packages/ that make
 * some of them the ones in use (bosh-agent: agent/applier/bundlecollection).
 */
export class BundleCollection {
  readonly #directories: Directories;
  readonly #identities: Identities;

  constructor(directories: Directories, identities: Identities) {
    this.#directories = directories;
    this.#identities = identities;
  }

  /**
   * Returns the bundle of a job. Its version and the digest of the rendered archive identify it, because the
   * same job version can be rendered with other properties.
   */
  job(job: JobSpec, spec: ApplySpec): Bundle {
    const identity = `${job.version}-${spec.renderedTemplates?.digest ?? ''}`;
    return bundleBelow(this.#directories.dataJobs, job.name, identity);
  }

  /** Returns the bundle of a compiled package. */
  package(spec: PackageSpec): Bundle {
    return bundleBelow(this.#directories.dataPackages, spec.name, `${spec.version}-${spec.digest}`);
  }

  /** Returns the bundle into which a package is compiled. It is never part of a spec. */
  compilationTarget(name: string): Bundle {
    return new Bundle(name, join(this.#directories.dataPackages, name, 'compiling'));
  }

  /** Returns all bundles of a spec. */
  all(spec: ApplySpec): SpecBundles {
    return {
      jobs: spec.jobs.map((job) => this.job(job, spec)),
      packages: spec.packages.map((entry) => this.package(entry)),
    };
  }

  /**
   * Makes exactly these installed bundles the ones in use: links packages, the packages of each job, and then
   * the jobs. Idempotent.
   */
  async enable({ jobs, packages }: SpecBundles): Promise<void> {
    await this.linkPackages(packages);
    for (const job of jobs) await linkJobPackages(job, packages);
    for (const job of jobs) await this.#linkBpmReplacement(job);
    await linkOnly(this.#directories.jobs, jobs);
    const { jobs: jobLinks, packages: packageLinks } = this.#directories;
    for (const path of [jobLinks, packageLinks]) await chownToVcap(path, this.#identities);
  }

  /** Makes exactly these packages the ones in use. */
  async linkPackages(packages: readonly Bundle[]): Promise<void> {
    await linkOnly(this.#directories.packages, packages);
  }

  /** Removes every installed version that is not one of these bundles, and all incomplete ones. */
  async removeUnused({ jobs, packages }: SpecBundles): Promise<void> {
    await removeAllBut(jobs, this.#directories.dataJobs);
    await this.removeUnusedPackages(packages);
  }

  /** Removes every installed version of a package that is not one of these, and all incomplete ones. */
  async removeUnusedPackages(packages: readonly Bundle[]): Promise<void> {
    await removeAllBut(packages, this.#directories.dataPackages);
  }

  /**
   * Links `bin/bpm` of an installed job bpm to the replacement, if the VM's image has one. The image of the
   * embedded node has one, because that node's kernel does not allow containers in a pod. Otherwise bpm stays
   * as its release installed it.
   */
  async #linkBpmReplacement(job: Bundle): Promise<void> {
    const { bpmReplacement } = this.#directories;
    if (job.name !== 'bpm' || !(await exists(bpmReplacement))) return;
    const program = join(job.installPath, 'bin', 'bpm');
    if (await exists(program)) await replaceLink(bpmReplacement, program);
  }
}

/** `identity` must be unique for the content of the bundle. Its digest is the name of the directory. */
function bundleBelow(directory: string, name: string, identity: string): Bundle {
  const hash = createHash('sha256').update(identity).digest('hex');
  return new Bundle(name, join(directory, name, hash));
}

/** Creates a link to each bundle, and removes all other links of the directory. */
async function linkOnly(directory: string, bundles: readonly Bundle[]): Promise<void> {
  for (const { name, installPath } of bundles) await replaceLink(installPath, join(directory, name));
  const kept = new Set(bundles.map((bundle) => bundle.name));
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    if (!kept.has(name) && (await readLinkIfPresent(path)) !== undefined) await rm(path);
  }
}

// Links jobs/<job>/packages/<package>, for jobs that use these paths (bosh-agent: rendered_job_applier.go,
// applyPackages).
async function linkJobPackages({ installPath }: Bundle, packages: readonly Bundle[]): Promise<void> {
  await using job = await DirectoryHandle.open(installPath);
  await job.makeDirectory('packages', 0o755);
  // Some releases make the job's user the owner of the job's directory.
  await using directory = await job.directory('packages');
  await linkOnly(directory.descriptorPath, packages);
}

async function removeAllBut(bundles: readonly Bundle[], directory: string): Promise<void> {
  const kept = new Set(bundles.map((bundle) => bundle.installPath));
  for (const name of await readdir(directory)) {
    const versions = join(directory, name);
    for (const version of await readdir(versions)) {
      const path = join(versions, version);
      if (!kept.has(path)) await removeTree(path);
    }
    if ((await readdir(versions)).length === 0) await removeTree(versions);
  }
}
