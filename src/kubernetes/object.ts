/** The parts of ObjectMeta (apimachinery) that we read or write. */
export interface ObjectMeta {
  /** Empty in an object that the server is to name after `generateName`. */
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: unknown[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

/** An object of a namespaced resource, stored or to be created. */
export interface NamespacedObject extends KubernetesObject {
  metadata: ObjectMeta & { namespace: string };
}

/** An object that the API server stores: the server has set its name, uid and version. */
export type Stored<T extends KubernetesObject> = T & {
  metadata: { uid: string; resourceVersion: string };
};

/** The object of a BOOKMARK, which has only a resourceVersion. */
export interface Bookmark {
  apiVersion?: string;
  kind?: string;
  metadata: Partial<ObjectMeta>;
}

export interface ObjectList<T extends KubernetesObject> {
  apiVersion: string;
  kind: string;
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: Stored<T>[];
}

/** metav1.Status, the body of every API error (apimachinery pkg/api/errors/errors.go). */
export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: { continue?: string };
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  code: number;
  details?: {
    name?: string;
    group?: string;
    kind?: string;
    uid?: string;
    retryAfterSeconds?: number;
    causes?: { reason?: string; message?: string; field?: string }[];
  };
}
