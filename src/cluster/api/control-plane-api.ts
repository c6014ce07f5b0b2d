import type { KubernetesApi, ListQuery, Resource } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { IssuedToken, TokenRequest } from './tokens/token-request.ts';

/**
 * What controllers and the node use beyond the verbs that everyone has: three subresources and a list that is not copied.
 * LocalApi implements it; over HTTPS they are POST pods/<name>/binding, PUT namespaces/<name>/finalize, POST
 * serviceaccounts/<name>/token and GET of the list.
 */
export interface ControlPlaneApi extends KubernetesApi {
  /**
   * Sets `spec.nodeName` and the condition PodScheduled, as POST pods/binding does (a plain update may not).
   * Rejects with ApiError 404 where the pod is gone, 409 where it has a node already or is being deleted.
   */
  bindPod(namespace: string, name: string, nodeName: string): Promise<void>;
  /**
   * Empties `spec.finalizers` of a Terminating namespace, which removes it. Idempotent: a namespace that is gone
   * is success. Rejects with ApiError 409 where it is not being deleted.
   */
  finalizeNamespace(name: string): Promise<void>;
  /** Whether any object of that list is wanted. `wanted` sees the stored objects and must not change them. */
  anyMatch(
    resource: Resource,
    query: ListQuery,
    predicate: (object: KubernetesObject) => boolean,
  ): Promise<boolean>;
  /** Rejects with ApiError 404 (account, bound object), 409 (another uid), 422. */
  requestToken(namespace: string, account: string, request: TokenRequest): Promise<IssuedToken>;
}
