import type { KubernetesObject, ObjectMeta } from '../../../kubernetes/object.ts';

/** An object as the store keeps it: named, versioned, and never changed in place. */
export interface StoredObject extends KubernetesObject {
  readonly metadata: ObjectMeta & { name: string; uid: string; resourceVersion: string };
  readonly [field: string]: unknown;
}

/** A change of one object. `previous` is absent for ADDED. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  /** `pods`, `storageclasses.storage.k8s.io` */
  readonly resource: string;
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
}

/** Where an object stands within its resource; the order of these keys is the order of lists. */
export function objectKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}
