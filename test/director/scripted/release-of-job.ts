import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOfFile } from '../../../src/bosh/digest.ts';
import { openRelease } from '../../../src/bosh/release/open-release.ts';
import {
  packagesInOrder,
  type Release,
  type ReleaseJob,
  type ReleasePackage,
} from '../../../src/bosh/release/release.ts';
import { createTemplateRenderer } from '../../../src/bosh/template/create-template-renderer.ts';
import { packRenderedJobs, renderJobs } from '../../../src/bosh/template/render-job.ts';

/** One job of a release, as a director uses it. */
export class ReleaseOfJob {
  readonly #release: Release;
  readonly #directory: string;
  readonly job: ReleaseJob;
  readonly #renderer = createTemplateRenderer();

  private constructor(release: Release, job: ReleaseJob, directory: string) {
    this.#release = release;
    this.job = job;
    this.#directory = directory;
  }

  /** Unpacks the release into the directory. */
  static async open(archivePath: string, jobName: string, directory: string): Promise<ReleaseOfJob> {
    const release = await openRelease({
      archivePath,
      digest: await digestOfFile(archivePath, 'sha1'),
      directory: join(directory, 'release'),
      within: directory,
    });
    const job = release.jobs.find(({ name }) => name === jobName);
    if (job === undefined) throw new Error(`release ${release.name} has no job ${jobName}`);
    return new ReleaseOfJob(release, job, directory);
  }

  /** The job's packages, each after those that it needs. */
  get packages(): readonly ReleasePackage[] {
    return packagesInOrder(this.#release, this.job.spec.packages);
  }

  /** Ends the process that renders. */
  close(): Promise<void> {
    return this.#renderer.close();
  }

  /** Renders the templates of one instance, and returns the archive and its SHA-1. */
  async render(instance: {
    readonly deployment: string;
    readonly id: string;
    readonly address: string;
    readonly properties: Readonly<Record<string, unknown>>;
  }): Promise<{ readonly archive: Buffer; readonly sha1: string }> {
    const directory = join(this.#directory, 'rendered');
    const rendered = await renderJobs({
      jobs: [{ job: this.job, jobProperties: instance.properties }],
      deployment: instance.deployment,
      globalProperties: {},
      groupProperties: {},
      address: instance.address,
      id: instance.id,
      directory,
      renderer: this.#renderer,
    });
    const path = join(this.#directory, 'rendered.tgz');
    const digest = await packRenderedJobs(rendered, path);
    return { archive: await readFile(path), sha1: digest };
  }
}
