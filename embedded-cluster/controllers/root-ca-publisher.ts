import { Controller } from '../../src/kubernetes/controllers/controller.ts';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import { configMaps } from '../../src/kubernetes/resources.ts';
import { rootCertificateName } from '../api-server/kinds/pod/account-admission.ts';
import type { ControllerContext } from './controller-context.ts';

type Context = ControllerContext<'configMaps' | 'namespaces'>;

/**
 * Keeps the cluster's certificate authority in a ConfigMap of each namespace, which is mounted into pods
 * together with their token (kubernetes: pkg/controller/certificates/rootcacertpublisher). Does nothing if
 * the cluster does not serve TLS.
 */
export class RootCaPublisher extends Controller {
  readonly #informers: Context['informers'];
  readonly #rootCertificate: Context['rootCertificate'];
  readonly #api: Context['api'];

  constructor(context: Context) {
    super('root-certificates', context);
    this.#informers = context.informers;
    this.#rootCertificate = context.rootCertificate;
    this.#api = context.api;
    const { informers } = context;

    informers.namespaces.onChange(({ key, after }) => {
      if (after !== undefined) this.queue.add(key);
    });

    informers.configMaps.onChange(({ before, after }) => {
      const metadata = (after ?? before)?.metadata;
      if (metadata?.name === rootCertificateName) this.queue.add(metadata.namespace ?? '');
    });
  }

  protected override async reconcile(name: string): Promise<void> {
    const namespace = this.#informers.namespaces.get(name);
    if (this.#rootCertificate === undefined || namespace === undefined) return;
    if (namespace.metadata.deletionTimestamp !== undefined) return;
    const metadata = { namespace: name, name: rootCertificateName };
    const data = { 'ca.crt': this.#rootCertificate };
    const present = this.#informers.configMaps.get(`${name}/${rootCertificateName}`) as
      | { data?: typeof data }
      | undefined;
    if (present?.data?.['ca.crt'] === this.#rootCertificate) return;
    try {
      await (present === undefined
        ? this.#api.create(configMaps, { metadata, ...{ data } })
        : this.#api.patch({ resource: configMaps, ...metadata }, { data }));
    } catch (error) {
      // The object has changed, and that change adds the namespace again; or the namespace is terminating.
      if (![403, 404, 409].some((code) => isApiError(error, code))) throw error;
    }
  }
}
