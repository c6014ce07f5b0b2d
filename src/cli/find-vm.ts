import { isApiError } from '../kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import { pods } from '../kubernetes/resources.ts';

/** `unknown`: the cid has a context prefix, so the VM may be in another cluster than the searched one. */
export type Finding = 'here' | 'lost' | 'unknown';

/**
 * Searches a VM's pod in all namespaces, because the CPI may use another one than the kubeconfig's. Searches
 * only `namespace` if the role may not list all.
 */
export async function findVm(
  api: Pick<KubernetesApi, 'list'>,
  namespace: string,
  vmCid: string,
): Promise<Finding> {
  const { context, name } = readCid(vmCid);
  const fieldSelector = `metadata.name=${name}`;
  const { items } = await api.list(pods, { fieldSelector }).catch((error: unknown) => {
    if (!isApiError(error, 403)) throw error;
    return api.list(pods, { fieldSelector, namespace });
  });
  if (items.length > 0) return 'here';
  return context === undefined ? 'lost' : 'unknown';
}

/** Parses `<context>:<name>` or `<name>`, split at the last colon (docs/cpi.md, contexts). */
export function readCid(cid: string): { readonly context: string | undefined; readonly name: string } {
  const colon = cid.lastIndexOf(':');
  return { context: colon < 0 ? undefined : cid.slice(0, colon), name: cid.slice(colon + 1) };
}
