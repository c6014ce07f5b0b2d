import type { Layer } from '../oci/layer/add-layer.ts';
import type { StemcellIdentity } from './write-stemcell.ts';

/** Labels of a stemcell's image. With them, a stemcell can be made from the image again. */
export const stemcellLabels = {
  name: 'org.opencontainers.image.title',
  version: 'org.opencontainers.image.version',
  operatingSystem: 'bosh.cloudfoundry.org/operating-system',
  profile: 'bosh.cloudfoundry.org/profile',
  agent: 'bosh.cloudfoundry.org/agent',
  agentBus: 'bosh.cloudfoundry.org/agent-bus',
} as const;

export function labelsOf({
  name,
  version,
  operatingSystem,
  agent: { agent, agent_bus: bus },
}: Pick<StemcellIdentity, 'name' | 'version' | 'operatingSystem' | 'agent'>): Readonly<
  Record<string, string>
> {
  return {
    [stemcellLabels.name]: name,
    [stemcellLabels.version]: version,
    [stemcellLabels.operatingSystem]: operatingSystem,
    ...(agent !== undefined && { [stemcellLabels.agent]: agent }),
    ...(bus !== undefined && { [stemcellLabels.agentBus]: bus }),
  };
}

export interface ImageConfigRequest {
  readonly layers: readonly (Layer & { readonly createdBy: string })[];
  readonly architecture: string;
  /** Date of the image in seconds since 1970. */
  readonly epoch: number;
  readonly entrypoint: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Returns the image's config (image-spec, config.md). The CPI gives every container its command; the entry
 * point is for other runtimes. Kubelets reject a config without an object `config`.
 */
export function imageConfig({
  layers,
  architecture,
  epoch,
  entrypoint,
  labels,
}: ImageConfigRequest): Readonly<Record<string, unknown>> {
  const created = new Date(epoch * 1000).toISOString();
  return {
    created,
    architecture,
    os: 'linux',
    config: {
      Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
      Entrypoint: entrypoint,
      WorkingDir: '/',
      Labels: labels,
      StopSignal: 'SIGTERM',
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ createdBy }) => ({ created, created_by: createdBy })),
  };
}
