import { formatBytes, parseMilli } from '../../../../kubernetes/quantity.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { objectUsage } from './object-usage.ts';
import type { Usage } from './object-usage.ts';

export type Amounts = Readonly<Record<string, string>>;

const computeName = /^((requests|limits)\.)?(cpu|memory|ephemeral-storage)$/u;
/** Of a device or the like that a node offers; a quota of one is of what is requested (pkg/quota/v1/evaluator/core/pods.go). */
const extendedName = /^requests\.(?:[a-z0-9-]+\.)+[a-z0-9-]+\/[A-Za-z0-9_.-]+$/u;
const claimName = /^(\S+\.storageclass\.storage\.k8s\.io\/)?(requests\.storage|persistentvolumeclaims)$/u;

/**
 * The resource whose objects a name of a quota is about; undefined for a name that means nothing here. Objects that
 * this cluster does not serve (ReplicationControllers) may be counted: there are none.
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

/** What the objects of a namespace take of each name. `list`: all of a resource there. Pure. */
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

/** As a quota's status has it. */
export function formatUsage(usage: Usage): Record<string, string> {
  return Object.fromEntries([...usage].map(([name, amount]) => [name, formatAmount(name, amount)]));
}

/** Thousandths as a quantity: bytes with binary suffixes, cores down to `m`, counts as they are. */
export function formatAmount(name: string, milli: bigint): string {
  if (milli % 1000n !== 0n) return `${milli}m`;
  return /(memory|storage)$/u.test(name) ? formatBytes(milli / 1000n) : String(milli / 1000n);
}

export const amountOf = (amounts: Amounts, name: string): bigint => parseMilli(amounts[name] ?? '0') ?? 0n;
