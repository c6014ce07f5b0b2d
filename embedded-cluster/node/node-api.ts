import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import type { IssuedToken, TokenRequest } from '../api-server/tokens/request-token.ts';

/** The API that the node needs: the verbs of all clients, and tokens for its pods. */
export interface NodeApi extends KubernetesApi {
  requestToken(namespace: string, account: string, request: TokenRequest): Promise<IssuedToken>;
}
