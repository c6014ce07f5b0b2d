import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../../../src/kubernetes/types/pod.ts';
import { amountOf, formatAmount, objectUsage, type Usage } from '../../../../src/kubernetes/types/usage.ts';
import { resourceQuotas } from '../../../../src/kubernetes/resources.ts';
import { forbidden, groupResource } from '../../errors/status-errors.ts';
import type { MutableObject, Kind } from '../../kinds/kind.ts';
import type { Registry } from '../../registry/registry.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import {
  formatUsage,
  namespaceUsage,
  resourceOfName,
  missingRequests,
  type ResourceList,
} from './quota-usage.ts';

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
    const asked = usageDelta(objectUsage(resource, draft), current && objectUsage(resource, current), names);
    const used = usedOf(registry, quota, names);
    const exceeded = [...asked.keys()]
      .filter((key) => (used.get(key) ?? 0n) + (asked.get(key) ?? 0n) > amountOf(hard, key))
      .toSorted();
    if (exceeded.length === 0) continue;
    const list = (amount: (key: string) => string): string =>
      exceeded.map((key) => `${key}=${amount(key)}`).join(',');
    const requested = list((key) => formatAmount(key, asked.get(key) ?? 0n));
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
