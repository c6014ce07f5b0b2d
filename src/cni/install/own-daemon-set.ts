import type { Access } from '../../kubernetes/access.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { Resource } from '../../kubernetes/api.ts';
import { openTransport } from '../../kubernetes/open-transport.ts';
import { RestApi } from '../../kubernetes/rest-api.ts';

const daemonSets: Resource = { group: 'apps', version: 'v1', plural: 'daemonsets', namespaced: true };

/** The state of the DaemonSet; `refused` if the API does not allow reading it. */
export type DaemonSetState = 'there' | 'removed' | 'refused';

/**
 * Reads the DaemonSet once and closes the connection, which would keep the process alive. Rejects if the API
 * does not respond.
 */
export async function daemonSetState(access: Access, name: string): Promise<DaemonSetState> {
  const transport = await openTransport(access, { timeoutMs: 5000 });
  try {
    const { metadata } = await new RestApi({ transport }).get({
      resource: daemonSets,
      namespace: access.namespace,
      name,
    });
    return metadata.deletionTimestamp === undefined ? 'there' : 'removed';
  } catch (error) {
    if (isApiError(error, 404)) return 'removed';
    if (isApiError(error, 401) || isApiError(error, 403)) return 'refused';
    throw error;
  } finally {
    transport.close();
  }
}
