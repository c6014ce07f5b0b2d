import { isDeepStrictEqual } from 'node:util';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { resourceQuotas } from '../../../src/kubernetes/resources.ts';
import type { ResourceQuota } from '../../api-server/admission/quota/admit-quota.ts';
import { formatUsage, namespaceUsage, resourceOfName } from '../../api-server/admission/quota/quota-usage.ts';
import type { StoredObject } from '../../api-server/store/stored-object.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { allInformers } from '../runtime/informers.ts';
import { WorkQueue } from '../runtime/work-queue.ts';

/**
 * Updates `status.used` of quotas when objects end (kubernetes: pkg/controller/resourcequota). For new
 * objects, admission itself updates it.
 */
export function createResourceQuotaController(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const queue = new WorkQueue('quota-usage', reconcile, context);

  for (const informer of allInformers(informers)) {
    informer.onChange(({ before, after }) => {
      const namespace = (after ?? before)?.metadata.namespace;
      if (namespace === undefined || informers.quotas.list().length === 0) return;
      for (const { metadata } of informers.quotas.list())
        if (metadata.namespace === namespace) queue.add(`${namespace}/${metadata.name ?? ''}`);
    });
  }

  async function reconcile(key: string): Promise<void> {
    const quota = informers.quotas.get(key) as ResourceQuota | undefined;
    if (quota === undefined || quota.metadata.deletionTimestamp !== undefined) return;
    const hard = quota.spec?.hard ?? {};
    const names = Object.keys(hard);
    const counted = new Map<string, readonly StoredObject[]>();
    for (const resource of new Set(names.map(resourceOfName)))
      if (resource !== undefined)
        counted.set(resource, await objectsOf(resource, quota.metadata.namespace ?? ''));
    const status = {
      hard: { ...hard },
      used: formatUsage(namespaceUsage(names, (name) => counted.get(name) ?? [])),
    };
    if (isDeepStrictEqual(status, quota.status)) return;
    try {
      await api.replace(resourceQuotas, { ...quota, status }, 'status');
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
  }

  /**
   * Lists the objects from the API server, because the cache may lack an object that admission has just
   * counted. Returns none for a resource that is not served.
   */
  async function objectsOf(resource: string, namespace: string): Promise<readonly StoredObject[]> {
    const [plural = '', ...group] = resource.split('.');
    const asked = { group: group.join('.'), version: 'v1', plural, namespaced: true };
    try {
      return (await api.list(asked, { namespace })).items as unknown as readonly StoredObject[];
    } catch (error) {
      if (isApiError(error, 404)) return [];
      throw error;
    }
  }

  return queue;
}
