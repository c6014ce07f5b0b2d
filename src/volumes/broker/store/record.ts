import type { Options } from '../options/parse-options.ts';

/** What is kept of a service instance. */
export interface InstanceRecord {
  readonly id: string;
  readonly serviceId: string;
  readonly planId: string;
  readonly organizationGuid: string;
  readonly spaceGuid: string;
  /** What the instance was provisioned with: an identical PUT gets the same answer again. */
  readonly provisioned: Options;
  /** What bindings of it get now, after updates. */
  readonly options: Options;
}

/** One mount as the platform hands it to a cell (OSBAPI 2.17, Volume Mounts Object). */
export interface VolumeMount {
  readonly driver: string;
  readonly container_dir: string;
  readonly mode: 'r' | 'rw';
  readonly device_type: 'shared';
  readonly device: { readonly volume_id: string; readonly mount_config: Readonly<Record<string, string>> };
}

/** What is kept of a binding, with the answer that its platform got. */
export interface BindingRecord {
  readonly id: string;
  readonly instanceId: string;
  readonly serviceId: string;
  readonly planId: string;
  readonly appGuid: string;
  readonly predecessorBindingId?: string;
  readonly options: Options;
  readonly volumeMount: VolumeMount;
}
