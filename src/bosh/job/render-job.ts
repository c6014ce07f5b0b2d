import type { ReleaseJob } from '../release/release.ts';
import type { TemplateRenderer } from '../template/template-renderer.ts';

type Properties = Readonly<Record<string, unknown>>;

/** One release job with the properties that the manifest gives it. */
export interface JobToRender {
  readonly job: ReleaseJob;
  /** Of the job itself; absent: global and group properties count. */
  readonly jobProperties?: Properties | undefined;
}

export interface RenderJobsOptions {
  readonly jobs: readonly JobToRender[];
  readonly deployment: string;
  readonly globalProperties: Properties;
  /** Instance group's, or `cloud_provider.properties` for the CPI. */
  readonly groupProperties: Properties;
  /** The instance's IP; absent when it has none. */
  readonly address?: string | undefined;
  /** Shown to templates as spec.id; random in bosh, so that it is a parameter here. */
  readonly id: string;
  /** Gets `<job>/...` of each job; what it holds is replaced. */
  readonly directory: string;
  readonly renderer: TemplateRenderer;
}

export interface RenderedJob {
  readonly name: string;
  /** `<directory>/<name>`; files of bin/ are 0755, the rest 0644, the folder 0700. */
  readonly directory: string;
}

/** Renders all templates and monit files of the jobs in one batch. TEMPLATE_INVALID when any fails; nothing is written then. */
export async function renderJobs(options: RenderJobsOptions): Promise<readonly RenderedJob[]> {
  throw new Error(`renderJobs is not written yet (${options.directory})`);
}
