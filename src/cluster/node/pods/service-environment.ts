import type { Pod } from '../../../kubernetes/pod.ts';
import { services } from '../../../kubernetes/resources.ts';
import type { Service } from '../../../kubernetes/service.ts';
import { apiEnvironment } from './container-plan.ts';
import type { PodServices } from './pod-services.ts';
import { serviceLinks } from './service-links.ts';

/**
 * How a pod's containers find the API and, unless it says `enableServiceLinks: false`, the Services that its namespace has
 * now. The API's own Service is told by the address at which pods of this node reach it.
 */
export async function serviceEnvironment(
  pod: Pod,
  { api, apiServer }: Pick<PodServices, 'api' | 'apiServer'>,
): Promise<ReadonlyMap<string, string>> {
  const links = pod.spec.enableServiceLinks === false ? [] : serviceLinks(await othersOf(pod, api));
  const server = await apiServer;
  return new Map([...links, ...(server === undefined ? [] : apiEnvironment(server))]);
}

async function othersOf({ metadata }: Pod, api: PodServices['api']): Promise<readonly Service[]> {
  const { namespace = 'default' } = metadata;
  const { items } = await api.list<Service>(services, { namespace });
  return items.filter((service) => namespace !== 'default' || service.metadata.name !== 'kubernetes');
}
