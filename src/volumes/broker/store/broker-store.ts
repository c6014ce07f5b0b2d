import type { BrokerResponse } from '../http/answer.ts';
import type { BindingRecord, InstanceRecord } from './record.ts';

/** What a request names. */
export interface RecordKey {
  readonly instanceId: string;
  readonly bindingId?: string | undefined;
}

/** A binding, of an instance. */
export type BindingTarget = RecordKey & { readonly bindingId: string };

/** What there is of it. */
export interface BindingView {
  readonly instance: InstanceRecord | undefined;
  readonly binding: BindingRecord | undefined;
}

/** An instance, and the ids of all its bindings, sorted. */
export interface InstanceView {
  readonly instance: InstanceRecord | undefined;
  readonly bindingIds: readonly string[];
}

/** What is to become of it: a record to write, `null` to delete, nothing to leave it. */
export interface StoreUpdate {
  readonly answer: BrokerResponse;
  readonly instance?: InstanceRecord | null;
  readonly binding?: BindingRecord | null;
}

/**
 * Where instances and bindings are kept. Adapters pass one suite (`testing/store-suite.ts`). What cannot be
 * reached rejects with STORE_UNAVAILABLE.
 */
export interface BrokerStore {
  /** What there is of it, at one moment. */
  read(target: RecordKey): Promise<BindingView>;
  /**
   * Decides and writes as one step: nobody changes the same instance or its bindings meanwhile. Resolves
   * with the answer when the change is on the disk. Killed before that, all of the change is there, or
   * nothing. `decide` may run more than once.
   */
  change(target: RecordKey, decide: (view: BindingView) => StoreUpdate): Promise<BrokerResponse>;
  /** The same for an instance, where its bindings count, too: to list them takes longer. */
  updateInstance(instanceId: string, decide: (view: InstanceView) => StoreUpdate): Promise<BrokerResponse>;
  /** Resolves when records can be read. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
