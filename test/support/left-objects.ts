import type { RestApi } from '../../src/kubernetes/client/rest-api.ts';
import { persistentVolumeClaims, pods, secrets, services } from '../../src/kubernetes/resources.ts';

/** Returns the objects of VMs and disks in a namespace, each as `KIND NAME`. */
export async function leftObjects(
  api: RestApi,
  namespace: string,
  labelSelector?: string,
): Promise<readonly string[]> {
  const lists = await Promise.all(
    [pods, services, persistentVolumeClaims, secrets].map(async (resource) => {
      const query = { namespace, ...(labelSelector !== undefined && { labelSelector }) };
      const { items } = await api.list(resource, query);
      return items.map(({ metadata }) => `${resource.plural} ${metadata.name}`);
    }),
  );
  return lists.flat();
}
