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
  /** Where `volumes migrate` took it over from an old broker. */
  readonly migrated?: ImportedInstance | MigratedBinding;
  /** What is being done to it, or was tried in vain. */
  readonly operation?: InstanceOperation;
}

/** A create or an update that is answered by polling while its share is being checked. */
export interface InstanceOperation {
  readonly id: string;
  readonly kind: 'provision' | 'update';
  readonly state: 'in progress' | 'failed';
  /** Why it failed. */
  readonly description?: string;
  /** What an update makes of the options. */
  readonly options?: Options;
}

/** The parameters that an old broker was given, as texts: its volume ids are made of them. */
type LegacyParameters = Readonly<Record<string, string>>;

export interface ImportedInstance {
  readonly kind: 'instance';
  readonly given: LegacyParameters;
}

/**
 * A binding of an old broker, which does not say of which instance it is: kept at an id that no request can
 * name, until a request names both. It stays when it is joined, so that it is not taken over twice.
 */
export interface MigratedBinding {
  readonly kind: 'binding';
  readonly given: LegacyParameters;
  readonly appGuid: string;
  readonly isJoined: boolean;
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
