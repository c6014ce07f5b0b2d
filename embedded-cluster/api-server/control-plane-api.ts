import type { KubernetesApi, ListQuery, Resource } from '../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { IssuedToken, TokenRequest } from './tokens/request-token.ts';

/**
 * The operations of controllers and the node beyond KubernetesApi: three subresources and a list that is not
 * copied. LocalApi implements it. Over HTTPS they are POST pods/<name>/binding, PUT
 * namespaces/<name>/finalize, POST serviceaccounts/<name>/token and GET of the list.
 */
export interface ControlPlaneApi extends KubernetesApi {
  /**
   * Sets `spec.nodeName` and the condition PodScheduled, as POST pods/binding does (a plain update may not).
   * Rejects with ApiError 404 if the pod does not exist, 409 if it already has a node or is being deleted.
   */
  bindPod(namespace: string, name: string, nodeName: string): Promise<void>;
  /**
   * Empties `spec.finalizers` of a Terminating namespace, which removes it. Idempotent: succeeds if the
   * namespace does not exist. Rejects with ApiError 409 if the namespace is not being deleted.
   */
  finalizeNamespace(name: string): Promise<void>;
  /**
   * Returns true if `predicate` accepts any object of the list. The predicate sees the stored objects and
   * must not change them.
   */
  anyMatch(
    resource: Resource,
    query: ListQuery,
    predicate: (object: KubernetesObject) => boolean,
  ): Promise<boolean>;
  /** Issues a token. Rejects with ApiError 404 (account, bound object), 409 (another uid), 422. */
  requestToken(namespace: string, account: string, request: TokenRequest): Promise<IssuedToken>;
}
