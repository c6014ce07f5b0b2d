import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { amountOf, formatAmount, objectUsage, type Usage } from '../../../src/kubernetes/types/usage.ts';
import { resourceQuotas } from '../../../src/kubernetes/resources.ts';
import { forbidden, groupResource } from '../errors/status-errors.ts';
import type { MutableObject, Kind } from '../kinds/kind.ts';
import type { Registry } from '../registry/registry.ts';
import type { StoredObject } from '../store/stored-object.ts';

export interface ResourceQuota extends StoredObject {
  readonly spec?: { readonly hard?: ResourceList };
  readonly status?: { readonly hard?: ResourceList; readonly used?: ResourceList };
}

/**
 * Applies the admission plugin ResourceQuota to a create or an update: what an object uses in addition must
 * be left in every quota of its namespace. Usage is counted from the stored objects, so that two concurrent
 * writes cannot both use the same remainder. Throws ApiError 403.
 */
export function admitQuota(
  registry: Registry,
  kind: Kind,
  { draft, current }: { draft: MutableObject; current: StoredObject | undefined },
): void {
  const resource = groupResource(kind.resource);
  for (const quota of quotasOf(registry, draft.metadata.namespace)) {
    const hard = quota.spec?.hard ?? {};
    const names = Object.keys(hard).filter((name) => resourceOfName(name) === resource);
    if (names.length === 0) continue;
    const { name } = quota.metadata;
    const silent =
      resource === 'pods' && current === undefined ? missingRequests(names, draft as unknown as Pod) : [];
    if (silent.length > 0)
      throw forbidden(
        kind.resource,
        draft.metadata.name,
        `failed quota: ${name}: must specify ${silent.join('; ')}`,
      );
    const added = usageDelta(objectUsage(resource, draft), current && objectUsage(resource, current), names);
    const used = usedOf(registry, quota, names);
    const exceeded = [...added.keys()]
      .filter((key) => (used.get(key) ?? 0n) + (added.get(key) ?? 0n) > amountOf(hard, key))
      .toSorted();
    if (exceeded.length === 0) continue;
    const list = (amount: (key: string) => string): string =>
      exceeded.map((key) => `${key}=${amount(key)}`).join(',');
    const requested = list((key) => formatAmount(key, added.get(key) ?? 0n));
    const taken = list((key) => formatAmount(key, used.get(key) ?? 0n));
    const limited = list((key) => hard[key] ?? '');
    throw forbidden(
      kind.resource,
      draft.metadata.name,
      `exceeded quota: ${name}, requested: ${requested}, used: ${taken}, limited: ${limited}`,
    );
  }
}

/**
 * Writes the current usage into the quotas of a namespace. The quota controller does the same when objects
 * end.
 */
export function updateQuotaUsage(registry: Registry, namespace: string | undefined): void {
  for (const quota of quotasOf(registry, namespace)) {
    const hard = quota.spec?.hard ?? {};
    const status = { hard: { ...hard }, used: formatUsage(usedOf(registry, quota, Object.keys(hard))) };
    if (isDeepStrictEqual(status, quota.status)) continue;
    registry.store.put(groupResource(resourceQuotas), { ...quota, status });
  }
}

function quotasOf({ store }: Registry, namespace: string | undefined): readonly ResourceQuota[] {
  return namespace === undefined ? [] : store.list(groupResource(resourceQuotas), namespace);
}

function usedOf({ store }: Registry, { metadata }: ResourceQuota, names: readonly string[]): Usage {
  return namespaceUsage(names, (resource) => store.list(resource, metadata.namespace));
}

function usageDelta(after: Usage, before: Usage | undefined, names: readonly string[]): Usage {
  const added = names.map((name) => [name, (after.get(name) ?? 0n) - (before?.get(name) ?? 0n)] as const);
  return new Map(added.filter(([, amount]) => amount > 0n));
}

type ResourceList = Readonly<Record<string, string>>;

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
function missingRequests(hard: readonly string[], { spec }: Pod): string[] {
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
