import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi, Resource } from '../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { endpointSlices, services } from '../../src/kubernetes/resources.ts';
import {
  serviceNameLabel,
  type EndpointSlice,
  type Service,
  type ServiceSpec,
} from '../../src/kubernetes/types/service.ts';
import { addressText, serviceRange } from './kinds/service/service-ranges.ts';

const namespace = 'default';
const name = 'kubernetes';

/** The address of that Service: the first one of the range, as in Kubernetes. */
export const apiServerAddress = addressText(serviceRange.first + 1);

/**
 * Creates or updates the Service `default/kubernetes` of every cluster (kubernetes:
 * pkg/controlplane/controller/kubernetesservice) and its EndpointSlice. Its port is the server's own port and
 * not 443, because a cluster without root may not listen there. Idempotent. Other changes to these objects
 * are reverted.
 */
export async function publishApiServer(api: KubernetesApi, url: URL): Promise<void> {
  const port = Number(url.port);
  const service: Service = {
    metadata: { namespace, name, labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      type: 'ClusterIP',
      clusterIP: apiServerAddress,
      ports: [{ name: 'https', protocol: 'TCP', port, targetPort: port }],
    },
  };
  const slice: EndpointSlice = {
    metadata: { namespace, name, labels: { [serviceNameLabel]: name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [url.hostname], conditions: { ready: true } }],
    ports: [{ name: 'https', protocol: 'TCP', port }],
  };
  await createOrUpdate(api, services, service, async () => {
    try {
      await api.create(services, service);
    } catch (error) {
      // In a cluster of an earlier version, another Service may have that address.
      if (!isApiError(error, 422)) throw error;
      const { clusterIP: _taken, ...spec } = service.spec;
      await api.create(services, { ...service, spec });
    }
  });
  await createOrUpdate(api, endpointSlices, slice, () => api.create(endpointSlices, slice));
}

async function createOrUpdate(
  api: KubernetesApi,
  resource: Resource,
  { metadata, ...content }: KubernetesObject & { spec?: ServiceSpec },
  create: () => Promise<unknown>,
): Promise<void> {
  const reference = { resource, namespace, name };
  try {
    const { ports } = content.spec ?? {};
    // The address of an existing Service does not change.
    const wanted = ports === undefined ? content : { spec: { ports } };
    await api.patch(reference, { metadata: { labels: metadata.labels }, ...wanted });
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
    await create();
  }
}
