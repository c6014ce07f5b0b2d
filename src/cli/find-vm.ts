import { isApiError } from '../kubernetes/api-error.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import { pods } from '../kubernetes/resources.ts';

/** `unknown`: it is in a context of the CPI, which may be another cluster than the one that was looked at. */
export type Finding = 'here' | 'lost' | 'unknown';

/**
 * Looks for a VM's pod in any namespace, since the CPI may have been told another one than the kubeconfig's; in `namespace`
 * where the role sees no more.
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

/** `<context>:<name>` or `<name>`, split at the last colon (docs/cpi.md, contexts). */
export function readCid(cid: string): { readonly context: string | undefined; readonly name: string } {
  const colon = cid.lastIndexOf(':');
  return { context: colon < 0 ? undefined : cid.slice(0, colon), name: cid.slice(colon + 1) };
}
