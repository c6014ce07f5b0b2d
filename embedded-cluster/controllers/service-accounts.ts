import { Controller } from '../../src/kubernetes/controllers/controller.ts';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import { serviceAccounts } from '../../src/kubernetes/resources.ts';
import { defaultAccount } from '../api-server/kinds/service-accounts.ts';
import type { ControllerContext } from './controller-context.ts';

type Context = ControllerContext<'namespaces' | 'serviceAccounts'>;

/**
 * Creates the service account `default` in each namespace, also after it was deleted (kubernetes:
 * pkg/controller/serviceaccount/serviceaccounts_controller.go). As in Kubernetes, its token is mounted into
 * every pod that does not opt out. VMs opt out, because they do not use the API (src/cpi/vm/pod.ts).
 */
export class ServiceAccounts extends Controller {
  readonly #informers: Context['informers'];
  readonly #api: Context['api'];

  constructor(context: Context) {
    super('default-accounts', context);
    this.#informers = context.informers;
    this.#api = context.api;
    const { informers } = context;

    informers.namespaces.onChange(({ key, after }) => {
      if (after !== undefined) this.queue.add(key);
    });

    informers.serviceAccounts.onChange(({ before, after }) => {
      const deleted = after === undefined ? before?.metadata : undefined;
      if (deleted?.name === defaultAccount) this.queue.add(deleted.namespace ?? '');
    });
  }

  protected override async reconcile(name: string): Promise<void> {
    const namespace = this.#informers.namespaces.get(name);
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return;
    if (this.#informers.serviceAccounts.get(`${name}/${defaultAccount}`) !== undefined) return;
    try {
      await this.#api.create(serviceAccounts, { metadata: { namespace: name, name: defaultAccount } });
    } catch (error) {
      // Another client has created it, or the namespace is terminating.
      if (![403, 404, 409].some((code) => isApiError(error, code))) throw error;
    }
  }
}
