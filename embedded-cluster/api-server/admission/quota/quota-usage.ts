import type { Pod } from '../../../../src/kubernetes/types/pod.ts';
import { formatAmount, objectUsage, type Usage } from '../../../../src/kubernetes/types/usage.ts';
import type { StoredObject } from '../../store/stored-object.ts';

export type ResourceList = Readonly<Record<string, string>>;

const computeName = /^((requests|limits)\.)?(cpu|memory|ephemeral-storage)$/u;
/**
 * Extended resources, such as devices of a node. A quota limits only their requests
 * (pkg/quota/v1/evaluator/core/pods.go).
 */
const extendedName = /^requests\.(?:[a-z0-9-]+\.)+[a-z0-9-]+\/[A-Za-z0-9_.-]+$/u;
const claimName = /^(\S+\.storageclass\.storage\.k8s\.io\/)?(requests\.storage|persistentvolumeclaims)$/u;

/**
 * Returns the resource whose objects a quota name counts; undefined for a name that has no meaning here.
 * Resources that this cluster does not serve (ReplicationControllers) may be counted: there are none.
 */
export function resourceOfName(name: string): string | undefined {
  if (name.startsWith('count/')) return name.slice('count/'.length);
  if (name === 'pods' || computeName.test(name) || extendedName.test(name)) return 'pods';
  if (claimName.test(name)) return 'persistentvolumeclaims';
  if (name.startsWith('services'))
    return /^services(\.loadbalancers|\.nodeports)?$/u.test(name) ? 'services' : undefined;
  return ['configmaps', 'replicationcontrollers', 'resourcequotas', 'secrets'].includes(name)
    ? name
    : undefined;
}

/**
 * Returns the usage of all objects in a namespace, by quota name. `list` returns all objects of a resource
 * there. Pure.
 */
export function namespaceUsage(
  names: readonly string[],
  list: (resource: string) => readonly StoredObject[],
): Usage {
  const used = new Map<string, bigint>(names.map((name) => [name, 0n]));
  for (const resource of new Set(names.map(resourceOfName))) {
    if (resource === undefined) continue;
    for (const object of list(resource)) {
      for (const [name, amount] of objectUsage(resource, object)) {
        const sum = used.get(name);
        if (sum !== undefined) used.set(name, sum + amount);
      }
    }
  }
  return used;
}

/** Formats usage as in a quota's status. */
export function formatUsage(usage: Usage): Record<string, string> {
  return Object.fromEntries([...usage].map(([name, amount]) => [name, formatAmount(name, amount)]));
}

/**
 * Returns the requests and limits that a quota requires of each container, with the containers that do not
 * set them: `limits.cpu for: c`.
 */
export function missingRequests(hard: readonly string[], { spec }: Pod): string[] {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  return ['cpu', 'limits.cpu', 'limits.memory', 'memory', 'requests.cpu', 'requests.memory']
    .filter((name) => hard.includes(name))
    .flatMap((name) => {
      const [part, resource = part] = name.split('.');
      const where = part === 'limits' ? 'limits' : 'requests';
      const silent = containers.filter(({ resources }) => resources?.[where]?.[resource ?? ''] === undefined);
      return silent.length === 0
        ? []
        : [
            `${name} for: ${silent
              .map((item) => item.name)
              .toSorted()
              .join(',')}`,
          ];
    });
}
