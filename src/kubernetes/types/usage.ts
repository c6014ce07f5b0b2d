import type { KubernetesObject } from '../object.ts';
import type { Container, Pod } from './pod.ts';
import { formatBytes, parseMilli } from './quantity.ts';
import type { Service } from './service.ts';
import type { PersistentVolumeClaim } from './storage.ts';

/** Thousandths by the resource name of a quota. */
export type Usage = ReadonlyMap<string, bigint>;

const single = 1000n;
const computeNames = ['cpu', 'memory', 'ephemeral-storage'];
/** Kinds that a quota may count without the prefix `count/`. */
const plainCounts = ['configmaps', 'persistentvolumeclaims', 'resourcequotas', 'secrets', 'services'];

/**
 * Returns the usage of one object by the resource names of a quota (kubernetes: pkg/quota/v1/evaluator/core).
 * `resource` is for example `pods` or `roles.rbac…`.
 */
export function objectUsage(resource: string, object: KubernetesObject): Usage {
  const counted: [string, bigint][] = [
    [`count/${resource}`, single],
    ...(plainCounts.includes(resource) ? [[resource, single] as [string, bigint]] : []),
  ];
  return new Map([...counted, ...ofKind(resource, object)]);
}

/**
 * Formats thousandths as a quantity: bytes with binary suffixes, cores with `m` if needed, counts as plain
 * numbers.
 */
export function formatAmount(name: string, milli: bigint): string {
  if (milli % 1000n !== 0n) return `${milli}m`;
  return /(memory|storage)$/u.test(name) ? formatBytes(milli / 1000n) : String(milli / 1000n);
}

export const amountOf = (amounts: Readonly<Record<string, string>>, name: string): bigint =>
  parseMilli(amounts[name] ?? '0') ?? 0n;

function ofKind(resource: string, object: KubernetesObject): [string, bigint][] {
  switch (resource) {
    case 'pods':
      return podUsage(object as Pod);
    case 'persistentvolumeclaims':
      return claimUsage(object as PersistentVolumeClaim);
    case 'services':
      return serviceUsage(object as Service);
    default:
      return [];
  }
}

/** Returns the usage of a pod. A terminated pod counts only as an object. */
function podUsage({ spec, status }: Pod): [string, bigint][] {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return [];
  return [
    ['pods', single],
    ...extendedOf(spec).map((name): [string, bigint] => [`requests.${name}`, total(spec, 'requests', name)]),
    ...computeNames.flatMap((name): [string, bigint][] => {
      const requested = total(spec, 'requests', name);
      return [
        [name, requested],
        [`requests.${name}`, requested],
        [`limits.${name}`, total(spec, 'limits', name)],
      ];
    }),
  ];
}

function extendedOf({ containers, initContainers = [] }: Pod['spec']): string[] {
  const named = [...containers, ...initContainers].flatMap(({ resources }) =>
    Object.keys(resources?.requests ?? {}),
  );
  return [...new Set(named)].filter((name) => name.includes('/'));
}

/**
 * Returns the largest sum of containers that run at the same time: all containers with the sidecars, or an
 * init container with the sidecars before it (component-helpers: resource/helpers.go).
 */
function total({ containers, initContainers = [] }: Pod['spec'], part: 'requests' | 'limits', name: string) {
  const amount = ({ resources }: Container): bigint => amountOf(resources?.[part] ?? {}, name);
  let sidecars = 0n;
  let max = 0n;
  for (const container of initContainers) {
    const now = sidecars + amount(container);
    if (now > max) max = now;
    if (container.restartPolicy === 'Always') sidecars = now;
  }
  const running = containers.reduce((sum, container) => sum + amount(container), sidecars);
  return running > max ? running : max;
}

function claimUsage({ spec }: PersistentVolumeClaim): [string, bigint][] {
  const { storageClassName: storageClass = '', resources } = spec;
  const requested = amountOf(resources?.requests ?? {}, 'storage');
  const prefix = `${storageClass}.storageclass.storage.k8s.io/`;
  return [
    ['requests.storage', requested],
    ...(storageClass === ''
      ? []
      : ([
          [`${prefix}requests.storage`, requested],
          [`${prefix}persistentvolumeclaims`, single],
        ] as [string, bigint][])),
  ];
}

function serviceUsage({ spec: { type, ports = [] } }: Service): [string, bigint][] {
  const count = BigInt(ports.length) * single;
  return [
    ['services.loadbalancers', type === 'LoadBalancer' ? single : 0n],
    ['services.nodeports', type === 'NodePort' || type === 'LoadBalancer' ? count : 0n],
  ];
}

/** Thousandths by resource name: cpu, memory, ephemeral-storage, extended resources. */
export type Amounts = ReadonlyMap<string, bigint>;

/**
 * Returns the resources that a pod requests of its node: the sum of its containers, or its largest init
 * container if that is more (component-helpers resource/helpers.go, PodRequests).
 */
export function podRequests(pod: Pod): Amounts {
  const sum = new Map<string, bigint>();
  for (const container of pod.spec.containers) {
    for (const [name, amount] of requestsOf(container)) {
      sum.set(name, (sum.get(name) ?? 0n) + amount);
    }
  }
  for (const container of pod.spec.initContainers ?? []) {
    for (const [name, amount] of requestsOf(container)) {
      const present = sum.get(name) ?? 0n;
      sum.set(name, amount > present ? amount : present);
    }
  }
  return sum;
}

/** Returns the sum of the requests of several pods. */
export function addAmounts(requests: readonly Amounts[]): Amounts {
  const sum = new Map<string, bigint>();
  for (const amounts of requests) {
    for (const [name, amount] of amounts) {
      sum.set(name, (sum.get(name) ?? 0n) + amount);
    }
  }
  return sum;
}

/** Returns the resources that do not suffice, as the scheduler reports them: `Insufficient cpu`. */
export function missingResources(
  requests: Amounts,
  used: Amounts,
  allocatable: Readonly<Record<string, string>>,
): string[] {
  return [...requests]
    .filter(([name, amount]) => {
      const capacity = parseMilli(allocatable[name] ?? '0') ?? 0n;
      return amount > 0n && amount + (used.get(name) ?? 0n) > capacity;
    })
    .map(([name]) => `Insufficient ${name}`);
}

function requestsOf(container: Container): [string, bigint][] {
  return Object.entries(container.resources?.requests ?? {}).map(([name, quantity]) => [
    name,
    parseMilli(quantity) ?? 0n,
  ]);
}
