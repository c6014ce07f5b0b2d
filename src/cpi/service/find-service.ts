import { ifThere } from '../../kubernetes/if-there.ts';
import type { ObjectReference } from '../../kubernetes/api.ts';
import { services } from '../../kubernetes/resources.ts';
import type { Service } from '../../kubernetes/service.ts';
import type { Cloud } from '../cloud.ts';

export const serviceReference = (cloud: Cloud, name: string): ObjectReference => ({
  resource: services,
  namespace: cloud.namespace,
  name,
});

/** Undefined where there is none of that name. */
export async function findService(cloud: Cloud, name: string): Promise<Service | undefined> {
  return ifThere(cloud.api.get<Service>(serviceReference(cloud, name)));
}
