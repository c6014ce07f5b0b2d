import { ignoreNotFound } from '../../kubernetes/if-there.ts';
import type { ObjectReference } from '../../kubernetes/api.ts';
import { services } from '../../kubernetes/resources.ts';
import type { Service } from '../../kubernetes/service.ts';
import type { CallContext } from '../cloud.ts';

export const serviceReference = (cloud: CallContext, name: string): ObjectReference => ({
  resource: services,
  namespace: cloud.namespace,
  name,
});

/** Reads a Service; undefined if none has that name. */
export async function findService(cloud: CallContext, name: string): Promise<Service | undefined> {
  return ignoreNotFound(cloud.api.get<Service>(serviceReference(cloud, name)));
}
