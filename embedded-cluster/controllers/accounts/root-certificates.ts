import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { configMaps } from '../../../src/kubernetes/resources.ts';
import { rootCertificateName } from '../../api-server/kinds/pod/account-admission.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { WorkQueue } from '../runtime/work-queue.ts';

/**
 * Keeps the cluster's certificate authority in a ConfigMap of each namespace, which is mounted into pods
 * together with their token (kubernetes: pkg/controller/certificates/rootcacertpublisher). Does nothing if
 * the cluster does not serve TLS.
 */
export function createRootCertificates(context: ControllerContext): WorkQueue {
  const { api, informers, rootCertificate } = context;
  const queue = new WorkQueue('root-certificates', reconcile, context);

  informers.namespaces.onChange(({ key, after }) => {
    if (after !== undefined) queue.add(key);
  });
  informers.configMaps.onChange(({ before, after }) => {
    const metadata = (after ?? before)?.metadata;
    if (metadata?.name === rootCertificateName) queue.add(metadata.namespace ?? '');
  });

  async function reconcile(name: string): Promise<void> {
    const namespace = informers.namespaces.get(name);
    if (rootCertificate === undefined || namespace === undefined) return;
    if (namespace.metadata.deletionTimestamp !== undefined) return;
    const metadata = { namespace: name, name: rootCertificateName };
    const data = { 'ca.crt': rootCertificate };
    const present = informers.configMaps.get(`${name}/${rootCertificateName}`) as
      | { data?: typeof data }
      | undefined;
    if (present?.data?.['ca.crt'] === rootCertificate) return;
    try {
      await (present === undefined
        ? api.create(configMaps, { metadata, ...{ data } })
        : api.patch({ resource: configMaps, ...metadata }, { data }));
    } catch (error) {
      // The object has changed, and that change adds the namespace again; or the namespace is terminating.
      if (![403, 404, 409].some((code) => isApiError(error, code))) throw error;
    }
  }

  return queue;
}
