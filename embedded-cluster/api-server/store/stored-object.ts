import type { KubernetesObject, Stored } from '../../../src/kubernetes/object.ts';

/** An object in the store, which is never changed in place. */
export interface StoredObject extends Stored<KubernetesObject> {
  readonly [field: string]: unknown;
}

/** A change of one object. `previous` is absent for ADDED. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  /** `pods`, `storageclasses.storage.k8s.io`. */
  readonly resource: string;
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
}

/** Returns the key of an object within its resource. Lists are in the order of these keys. */
export function objectKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}
