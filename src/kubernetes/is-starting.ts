import { transportFailure } from './transport-failure.ts';
import type { Transport } from './transport.ts';

/**
 * True while an API server says itself that it is not ready. One that has just started refuses everybody (403) until it has
 * read the roles; `/readyz` needs no right and fails as long (kubernetes: staging/src/k8s.io/apiserver
 * pkg/server/healthz.go, informer-sync). Anything else than a clear no counts as ready, so that a 403 stays one.
 */
export async function isStarting(transport: Transport): Promise<boolean> {
  try {
    return (await transport.request({ method: 'GET', path: '/readyz' })).status >= 500;
  } catch (error) {
    if (transportFailure(error) === undefined) throw error;
    return false;
  }
}
