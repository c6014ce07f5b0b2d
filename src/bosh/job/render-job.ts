import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { archiveLimits } from '../archive/archive-limits.ts';
import { readRegularFile } from '../archive/read-at-most.ts';
import type { ReleaseJob } from '../release/release.ts';
import type { TemplateContext, TemplateRenderer, TemplateToRender } from '../template/template-renderer.ts';
import { jobContext } from './job-context.ts';
import type { JobContextOptions, Properties } from './job-context.ts';
import { writeFile } from '../../platform/write-file.ts';

/** One release job with its properties from the manifest. */
export interface JobToRender {
  readonly job: ReleaseJob;
  /** The job's own properties. If absent, global and group properties are used. */
  readonly jobProperties?: Properties | undefined;
  /** The position of the properties in the manifest, for errors. */
  readonly propertiesPosition?: string | undefined;
}

export interface RenderJobsOptions extends Omit<JobContextOptions, 'job' | 'jobProperties'> {
  readonly jobs: readonly JobToRender[];
  /** The directory for `<job>/...` of each job. An existing directory of a job is replaced. */
  readonly directory: string;
  readonly renderer: TemplateRenderer;
}

export interface RenderedJob {
  readonly name: string;
  /**
   * `<directory>/<name>`, readable only by its owner, because templates contain secrets. Files of bin/ are
   * executable.
   */
  readonly directory: string;
}

interface SourceFile {
  /** The path in the job's archive. */
  readonly file: string;
  readonly context: TemplateContext;
  readonly destination: string;
  readonly executable: boolean;
  readonly propertiesPosition: string | undefined;
}

export type JobTemplate = TemplateToRender & Pick<SourceFile, 'destination' | 'executable'>;

/**
 * Renders all templates and monit files of the jobs in one batch (bosh-cli:
 * templatescompiler/job_renderer.go). Throws TEMPLATE_INVALID with a line for each template that fails, and
 * writes nothing then.
 */
export async function renderJobs(options: RenderJobsOptions): Promise<readonly RenderedJob[]> {
  const { jobs, directory, renderer } = options;
  const sources = await readJobTemplates(options);
  const texts = await renderer.render(
    sources.map(({ name, template, context, propertiesPosition }) => ({
      name,
      template,
      context,
      propertiesPosition,
    })),
  );
  const rendered = jobs.map(({ job }) => ({ name: job.name, directory: join(directory, job.name) }));
  for (const one of rendered) {
    await removeTree(one.directory, { within: directory });
    await mkdir(one.directory, { recursive: true, mode: 0o700 });
    await chmod(one.directory, 0o700);
  }
  await Promise.all(sources.map((source, index) => writeRendered(source, texts[index] ?? '')));
  return rendered;
}

/** Reads all templates and monit files of the jobs, with the path to which renderJobs would write each. */
export async function readJobTemplates(
  options: Omit<RenderJobsOptions, 'renderer'>,
): Promise<readonly JobTemplate[]> {
  // Read one file after another, because the limit counts all of them together.
  const sources: JobTemplate[] = [];
  let left: number = archiveLimits.templates;
  for (const one of options.jobs)
    for (const file of jobSources(one, options)) {
      const source = await readSource(one.job, file, left);
      if (source === undefined) continue;
      left -= Buffer.byteLength(source.template);
      sources.push(source);
    }
  return sources;
}

function jobSources(
  { job, jobProperties, propertiesPosition }: JobToRender,
  options: Omit<RenderJobsOptions, 'renderer'>,
): readonly SourceFile[] {
  const context = jobContext({ ...options, job, jobProperties });
  const target = join(options.directory, job.name);
  const templates = job.spec.templates.map(({ source, destination }) => ({
    file: `templates/${source}`,
    context,
    destination: join(target, destination),
    executable: destination.startsWith('bin/'),
    propertiesPosition,
  }));
  const destination = join(target, 'monit');
  return [...templates, { file: 'monit', context, destination, executable: false, propertiesPosition }];
}

/** Returns undefined for a monit file that does not exist. */
async function readSource(
  job: ReleaseJob,
  { file, ...rest }: SourceFile,
  left: number,
): Promise<JobTemplate | undefined> {
  const name = `${job.name}/${file}`;
  const bytes = await readRegularFile(
    join(job.directory, file),
    Math.min(archiveLimits.manifest, left),
  ).catch((error: unknown) => {
    if (file === 'monit' && isProductError(error, 'FILE_NOT_FOUND')) return null;
    throw error;
  });
  if (bytes === null) return undefined;
  if (bytes === undefined) {
    const excess =
      left < archiveLimits.manifest
        ? `all templates together have more than ${archiveLimits.templates} bytes`
        : `it is larger than ${archiveLimits.manifest} bytes`;
    throw new ProductError('TEMPLATE_INVALID', `Cannot render '${name}': ${excess}`);
  }
  return { name, template: decode(name, bytes), ...rest };
}

function decode(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new ProductError('TEMPLATE_INVALID', `Cannot render '${name}': it is not text in UTF-8`, {
      cause: error,
    });
  }
}

async function writeRendered({ destination, executable }: JobTemplate, text: string): Promise<void> {
  await mkdir(dirname(destination), { recursive: true, mode: 0o700 });
  await writeFile(destination, text, { mode: executable ? 0o700 : 0o600 });
}
