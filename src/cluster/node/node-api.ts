import type { KubernetesApi } from '../../kubernetes/api.ts';
import type { IssuedToken, TokenRequest } from '../api/tokens/token-request.ts';

/** What the node needs of the API: the verbs that everyone has, and tokens for its pods. */
export interface NodeApi extends KubernetesApi {
  requestToken(namespace: string, account: string, request: TokenRequest): Promise<IssuedToken>;
}
