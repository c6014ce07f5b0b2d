import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { archiveLimits } from '../archive/archive-limits.ts';
import { readRegularFile } from '../archive/open-for-reading.ts';
import type { ReleaseJob } from '../release/release.ts';
import type { TemplateContext, TemplateRenderer, TemplateToRender } from './template-renderer.ts';
import { writeFile } from '../../platform/write-file.ts';
import { listEntries, packArchive, type ArchiveEntry } from '../archive/pack-archive.ts';
import { digestOfFile } from '../digest.ts';

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
  let remaining: number = archiveLimits.templates;
  for (const one of options.jobs)
    for (const file of jobSources(one, options)) {
      const source = await readSource(one.job, file, remaining);
      if (source === undefined) continue;
      remaining -= Buffer.byteLength(source.template);
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
  remaining: number,
): Promise<JobTemplate | undefined> {
  const name = `${job.name}/${file}`;
  const bytes = await readRegularFile(
    join(job.directory, file),
    Math.min(archiveLimits.manifest, remaining),
  ).catch((error: unknown) => {
    if (file === 'monit' && isProductError(error, 'FILE_NOT_FOUND')) return null;
    throw error;
  });
  if (bytes === null) return undefined;
  if (bytes === undefined) {
    const excess =
      remaining < archiveLimits.manifest
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

export type Properties = Readonly<Record<string, unknown>>;

export interface JobContextOptions {
  readonly job: ReleaseJob;
  /** The job's own properties. If absent, global and group properties are used. */
  readonly jobProperties?: Properties | undefined;
  readonly deployment: string;
  /** The value of spec.name; absent for the CPI's own jobs. */
  readonly instanceGroup?: string | undefined;
  readonly globalProperties: Properties;
  /** The properties of the instance group, or `cloud_provider.properties` for the CPI. */
  readonly groupProperties: Properties;
  /** The instance's IP address; absent if it has none. */
  readonly address?: string | undefined;
  /** The value of spec.id. It is a parameter because it is random in bosh. */
  readonly id: string;
}

/**
 * Returns the context of a job's templates (bosh-cli: templatescompiler/job_evaluation_context.go). `ip` and
 * `name` exist in a director's context, but not in the bosh CLI's, which has only `address` and `job.name`.
 * `networks` has empty values, as in the bosh CLI.
 */
function jobContext(options: JobContextOptions): TemplateContext {
  const { job, address, instanceGroup } = options;
  const defaults = Object.entries(job.spec.properties).map(
    ([name, property]) => [name, property.default ?? null] as const,
  );
  return {
    index: 0,
    id: options.id,
    az: 'unknown',
    bootstrap: true,
    job: { name: job.name },
    deployment: options.deployment,
    ...(address === undefined || address === '' ? {} : { address, ip: address }),
    ...(instanceGroup === undefined ? {} : { name: instanceGroup }),
    networks: { default: { ip: '', netmask: '', gateway: '' } },
    global_properties: options.globalProperties,
    cluster_properties: options.groupProperties,
    job_properties: options.jobProperties ?? null,
    default_properties: Object.fromEntries(defaults),
  };
}

/**
 * Writes a tar.gz (mode 0600) with a top-level directory per job, as agents expect it. The bytes depend only
 * on the content. Returns its digest, `sha256:<hex>`.
 */
export async function packRenderedJobs(jobs: readonly RenderedJob[], outFile: string): Promise<string> {
  const sorted = jobs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const directories = await Promise.all(
    sorted.map(async ({ name, directory }): Promise<readonly ArchiveEntry[]> => [
      { kind: 'directory', name: `./${name}/`, mode: 0o755 },
      ...(await listEntries(directory, `./${name}/`)).map(withUsualMode),
    ]),
  );
  await packArchive(directories.flat(), outFile, { mode: 0o600 });
  return digestOfFile(outFile);
}

/**
 * Restores the usual modes. The modes here deny access to other users of this machine; on the VM the agent
 * sets its own.
 */
function withUsualMode(entry: ArchiveEntry): ArchiveEntry {
  if (entry.kind === 'symlink') return entry;
  return { ...entry, mode: (entry.mode & 0o100) === 0 ? 0o644 : 0o755 };
}
