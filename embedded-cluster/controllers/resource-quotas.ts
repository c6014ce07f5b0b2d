import { Controller } from '../../src/kubernetes/controllers/controller.ts';
import { isDeepStrictEqual } from 'node:util';
import { ignoreNotFound } from '../../src/kubernetes/api.ts';
import { keyOf } from '../../src/kubernetes/controllers/informer.ts';
import { resourceQuotas } from '../../src/kubernetes/resources.ts';
import {
  type ResourceQuota,
  formatUsage,
  namespaceUsage,
  resourceOfName,
} from '../api-server/admission/quota.ts';
import type { StoredObject } from '../api-server/store/stored-object.ts';
import type { ControllerContext } from './controller-context.ts';
import { allInformers } from './informers.ts';

/**
 * Updates `status.used` of quotas when objects end (kubernetes: pkg/controller/resourcequota). For new
 * objects, admission itself updates it.
 */
export class ResourceQuotas extends Controller {
  readonly #informers: ControllerContext['informers'];
  readonly #api: ControllerContext['api'];

  constructor(context: ControllerContext) {
    super('quota-usage', context);
    this.#informers = context.informers;
    this.#api = context.api;
    const { informers } = context;

    for (const informer of allInformers(informers)) {
      informer.onChange(({ before, after }) => {
        const namespace = (after ?? before)?.metadata.namespace;
        if (namespace === undefined) return;
        for (const quota of informers.quotas.list())
          if (quota.metadata.namespace === namespace) this.queue.add(keyOf(quota));
      });
    }
  }

  protected override async reconcile(key: string): Promise<void> {
    const quota = this.#informers.quotas.get(key) as ResourceQuota | undefined;
    if (quota === undefined || quota.metadata.deletionTimestamp !== undefined) return;
    const hard = quota.spec?.hard ?? {};
    const names = Object.keys(hard);
    const counted = new Map<string, readonly StoredObject[]>();
    for (const resource of new Set(names.map(resourceOfName)))
      if (resource !== undefined)
        counted.set(resource, await this.#objectsOf(resource, quota.metadata.namespace ?? ''));
    const status = {
      hard: { ...hard },
      used: formatUsage(namespaceUsage(names, (name) => counted.get(name) ?? [])),
    };
    if (isDeepStrictEqual(status, quota.status)) return;
    await ignoreNotFound(this.#api.replace(resourceQuotas, { ...quota, status }, 'status'));
  }

  /**
   * Lists the objects from the API server, because the cache may lack an object that admission has just
   * counted. Returns none for a resource that is not served.
   */
  async #objectsOf(resource: string, namespace: string): Promise<readonly StoredObject[]> {
    const [plural = '', ...group] = resource.split('.');
    const counted = { group: group.join('.'), version: 'v1', plural, namespaced: true };
    const list = await ignoreNotFound(this.#api.list(counted, { namespace }));
    return (list?.items ?? []) as unknown as readonly StoredObject[];
  }
}
