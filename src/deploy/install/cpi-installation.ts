import { chmod, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { renderJobs } from '../../bosh/template/render-job.ts';
import type { Manifest } from '../../bosh/manifest/manifest.ts';
import type { ReleaseJob } from '../../bosh/release/release.ts';
import type { TemplateRenderer } from '../../bosh/template/template-renderer.ts';
import { withContext } from '../../platform/error-chain.ts';
import type { PathSegment } from '../../platform/path-segment.ts';
import { type ReleaseArchive, openReleases, jobOfRelease } from '../archive/release-archive.ts';
import type { CpiExecutable } from '../cpi/cpi-runner.ts';
import type { Stage } from '../stage/stage.ts';
import { installPackages, type PackageInstallation } from './install-packages.ts';

export interface CpiInstallation extends PackageInstallation {
  readonly renderer: TemplateRenderer;
  readonly uuid: () => string;
}

export interface CpiToInstall {
  readonly manifest: Manifest;
  readonly releases: readonly ReleaseArchive[];
  /** The job that renders `bin/cpi`. */
  readonly cpiJob: { readonly name: PathSegment };
}

/** Installs the CPI's packages and renders its jobs on this machine (bosh-cli installation/installer.go). */
export async function installCpi(
  installation: CpiInstallation,
  stage: Stage,
  cpi: CpiToInstall,
): Promise<CpiExecutable> {
  const { directory } = installation;
  return withContext('Installing CPI', () =>
    stage.performComplex('installing CPI', async (group) => {
      const { templates } = cpi.manifest.cloudProvider;
      const releases = await openReleases(
        cpi.releases,
        templates.map(({ release }) => release),
      );
      const jobs = templates.map((template) => jobOfRelease(releases, template));
      const needed = releases.map((release) => ({
        release,
        names: jobs.filter((job) => release.jobs.includes(job)).flatMap((job) => job.packages),
      }));
      await runInParallel(installation.renderer.start(), () => installPackages(installation, group, needed));
      await renderCpiJobs(installation, group, { manifest: cpi.manifest, jobs });
      return {
        path: join(directory.jobs, cpi.cpiJob.name, 'bin', 'cpi'),
        packagesDirectory: directory.packages,
        jobsDirectory: directory.jobs,
      };
    }),
  );
}

/** Passes only `cloud_provider.properties` to the CPI's templates. */
async function renderCpiJobs(
  { directory, renderer, uuid }: CpiInstallation,
  stage: Stage,
  { manifest, jobs }: { readonly manifest: Manifest; readonly jobs: readonly ReleaseJob[] },
): Promise<void> {
  const rendered = await stage.perform('Rendering job templates', () =>
    renderJobs({
      jobs: jobs.map((job) => ({ job, propertiesPosition: manifest.cloudProvider.propertiesPosition })),
      deployment: manifest.name,
      globalProperties: {},
      groupProperties: manifest.cloudProvider.properties,
      id: uuid(),
      directory: directory.jobs,
      renderer,
    }),
  );
  for (const job of rendered) {
    await stage.perform(`Installing job '${job.name}'`, () => restrictToOwner(job.directory));
  }
}

/** Restricts access to the owner, because rendered jobs contain credentials. */
async function restrictToOwner(directory: string): Promise<void> {
  await chmod(directory, 0o700);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await restrictToOwner(path);
    else await chmod(path, (await stat(path)).mode & 0o700);
  }
}

/**
 * Runs `work` while `background` runs. Both have ended when the promise settles. The error of `work` takes
 * precedence.
 */
async function runInParallel<T>(background: Promise<void>, work: () => Promise<T>): Promise<T> {
  const [result, other] = await Promise.allSettled([work(), background]);
  if (result.status === 'rejected') throw result.reason;
  if (other.status === 'rejected') throw other.reason;
  return result.value;
}
