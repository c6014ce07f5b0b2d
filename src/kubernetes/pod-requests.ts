import type { Container, Pod } from './pod.ts';
import { parseMilli } from './quantity.ts';

/** Thousandths by resource name: cpu, memory, ephemeral-storage, extended resources. */
export type Amounts = ReadonlyMap<string, bigint>;

/**
 * Returns the resources that a pod requests of its node: the sum of its containers, or its largest init
 * container if that is more (component-helpers resource/helpers.go, PodRequests).
 */
export function podRequests(pod: Pod): Amounts {
  const total = new Map<string, bigint>();
  for (const container of pod.spec.containers) {
    for (const [name, amount] of requestsOf(container)) {
      total.set(name, (total.get(name) ?? 0n) + amount);
    }
  }
  for (const container of pod.spec.initContainers ?? []) {
    for (const [name, amount] of requestsOf(container)) {
      const sum = total.get(name) ?? 0n;
      total.set(name, amount > sum ? amount : sum);
    }
  }
  return total;
}

/** Returns the sum of the requests of several pods. */
export function addAmounts(requests: readonly Amounts[]): Amounts {
  const total = new Map<string, bigint>();
  for (const amounts of requests) {
    for (const [name, amount] of amounts) {
      total.set(name, (total.get(name) ?? 0n) + amount);
    }
  }
  return total;
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
