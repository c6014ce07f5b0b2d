import type { BrokerResponse } from '../response.ts';
import type { Options } from '../offerings/option-table.ts';

/** The ids in a request. */
export interface RecordKey {
  readonly instanceId: string;
  readonly bindingId?: string | undefined;
}

/** The key of a binding. */
export type BindingTarget = RecordKey & { readonly bindingId: string };

/** The stored instance and binding of a key. */
export interface BindingView {
  readonly instance: InstanceRecord | undefined;
  readonly binding: BindingRecord | undefined;
}

/** An instance, and the ids of all its bindings, sorted. */
export interface InstanceView {
  readonly instance: InstanceRecord | undefined;
  readonly bindingIds: readonly string[];
}

/** The records to write. `null` deletes the record, undefined keeps it. */
export interface StoreUpdate {
  readonly answer: BrokerResponse;
  readonly instance?: InstanceRecord | null;
  readonly binding?: BindingRecord | null;
}

/**
 * Stores instances and bindings. All adapters pass one suite (`testing/store-suite.ts`). Methods reject with
 * STORE_UNAVAILABLE if the store cannot be reached.
 */
export interface BrokerStore {
  /** Returns a consistent view of the instance and the binding. */
  read(target: RecordKey): Promise<BindingView>;
  /**
   * Decides and writes atomically: changes of one instance and its bindings are serialised. Resolves with the
   * response when the change is durable. If the process dies before that, either the whole change is stored
   * or none of it. `decide` may be called several times.
   */
  change(target: RecordKey, decide: (view: BindingView) => StoreUpdate): Promise<BrokerResponse>;
  /**
   * Decides and writes as `change` does, for an instance and the list of its bindings, which takes longer to
   * read.
   */
  updateInstance(instanceId: string, decide: (view: InstanceView) => StoreUpdate): Promise<BrokerResponse>;
  /** Resolves if records can be read. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

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
  /**
   * Present if a version of this broker with an asynchronous mode wrote the record and did not complete the
   * operation. An update that it did not complete is not in `options`.
   */
  readonly operation?: { readonly kind: 'provision' | 'update' };
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
