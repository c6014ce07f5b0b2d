import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { serviceAccounts } from '../../../src/kubernetes/resources.ts';
import { defaultAccount } from '../../api-server/kinds/service-accounts.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { WorkQueue } from '../runtime/work-queue.ts';

/**
 * Creates the service account `default` in each namespace, also after it was deleted (kubernetes:
 * pkg/controller/serviceaccount/serviceaccounts_controller.go). As in Kubernetes, its token is mounted into
 * every pod that does not opt out. VMs opt out, because they do not use the API (src/cpi/vm/pod.ts).
 */
export function createDefaultAccounts(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const queue = new WorkQueue('default-accounts', reconcile, context);

  informers.namespaces.onChange(({ key, after }) => {
    if (after !== undefined) queue.add(key);
  });
  informers.serviceAccounts.onChange(({ before, after }) => {
    const gone = after === undefined ? before?.metadata : undefined;
    if (gone?.name === defaultAccount) queue.add(gone.namespace ?? '');
  });

  async function reconcile(name: string): Promise<void> {
    const namespace = informers.namespaces.get(name);
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return;
    if (informers.serviceAccounts.get(`${name}/${defaultAccount}`) !== undefined) return;
    try {
      await api.create(serviceAccounts, { metadata: { namespace: name, name: defaultAccount } });
    } catch (error) {
      // Another client has created it, or the namespace is terminating.
      if (![403, 404, 409].some((code) => isApiError(error, code))) throw error;
    }
  }

  return queue;
}
