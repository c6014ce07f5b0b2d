import type { ReleaseJob } from '../release/release.ts';
import type { TemplateContext } from '../template/template-renderer.ts';

export type Properties = Readonly<Record<string, unknown>>;

export interface JobContextOptions {
  readonly job: ReleaseJob;
  /** Of the job itself; absent: global and group properties count. */
  readonly jobProperties?: Properties | undefined;
  readonly deployment: string;
  /** Shown as spec.name; absent for the CPI's own jobs. */
  readonly instanceGroup?: string | undefined;
  readonly globalProperties: Properties;
  /** Instance group's, or `cloud_provider.properties` for the CPI. */
  readonly groupProperties: Properties;
  /** The instance's IP; absent when it has none. */
  readonly address?: string | undefined;
  /** spec.id; random in bosh, so that it is a parameter here. */
  readonly id: string;
}

/**
 * What a job's templates see (bosh-cli: templatescompiler/job_evaluation_context.go). `ip` and `name`, which a director
 * gives, are ours: the bosh CLI has only `address` and `job.name`. Networks are empty as there.
 */
export function jobContext(options: JobContextOptions): TemplateContext {
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
