import type { ReleaseJob } from '../release/release.ts';
import type { TemplateContext } from '../template/template-renderer.ts';

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
