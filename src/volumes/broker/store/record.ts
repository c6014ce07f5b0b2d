import type { Options } from '../options/parse-options.ts';

/** The stored record of a service instance. */
export interface InstanceRecord {
  readonly id: string;
  readonly serviceId: string;
  readonly planId: string;
  readonly organizationGuid: string;
  readonly spaceGuid: string;
  /** The original options: an identical PUT gets the same response again. */
  readonly provisioned: Options;
  /** The current options, after updates. New bindings use them. */
  readonly options: Options;
  /** Present if `volumes migrate` imported it from an old broker. */
  readonly migrated?: ImportedInstance | MigratedBinding;
  /** The operation in progress, or the last one if it failed. */
  readonly operation?: InstanceOperation;
}

/** A create or an update that the platform polls while its share is being checked. */
export interface InstanceOperation {
  readonly id: string;
  readonly kind: 'provision' | 'update';
  readonly state: 'in progress' | 'failed';
  /** The reason of the failure. */
  readonly description?: string;
  /** The options after a successful update. */
  readonly options?: Options;
}

/** The parameters of the old broker as strings. Its volume ids are made from them. */
type LegacyParameters = Readonly<Record<string, string>>;

export interface ImportedInstance {
  readonly kind: 'instance';
  readonly given: LegacyParameters;
}

/**
 * A binding of an old broker, whose record does not name its instance. It is stored under an id that no
 * request can have, until a request names both. The record stays after the binding is attached, so that it is
 * not imported again.
 */
export interface MigratedBinding {
  readonly kind: 'binding';
  readonly given: LegacyParameters;
  readonly appGuid: string;
  readonly isJoined: boolean;
}

/** One mount as the platform passes it to a cell (OSBAPI 2.17, Volume Mounts Object). */
export interface VolumeMount {
  readonly driver: string;
  readonly container_dir: string;
  readonly mode: 'r' | 'rw';
  readonly device_type: 'shared';
  readonly device: { readonly volume_id: string; readonly mount_config: Readonly<Record<string, string>> };
}

/** The stored record of a binding, with the mount of its response. */
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
