import type { BrokerResponse } from '../http/answer.ts';
import type { BindingRecord, InstanceRecord } from './record.ts';

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
