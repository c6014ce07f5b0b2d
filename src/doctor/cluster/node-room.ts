import { requestsOnNode, type Compute } from '../../cpi/vm/properties.ts';
import { zoneLabel } from '../../cpi/vm/placement-properties.ts';
import { whyClosed, type Node } from '../../kubernetes/types/node.ts';
import { isTerminal, type Pod } from '../../kubernetes/types/pod.ts';
import { parseMilli } from '../../kubernetes/types/quantity.ts';
import { podRequests, type Amounts } from '../../kubernetes/types/usage.ts';

/** What pods can still request of a node that VMs can be scheduled to. */
export interface NodeRoom {
  readonly name: string;
  readonly zone: string | undefined;
  readonly free: Amounts;
}

const resources = ['cpu', 'memory', 'ephemeral-storage'] as const;

/** Returns the room on each node that is open to VMs. The requests of `ignored` pods count as free. */
export function roomOnNodes(
  nodes: readonly Node[],
  pods: readonly Pod[],
  isIgnored: (pod: Pod) => boolean = () => false,
): NodeRoom[] {
  const counted = pods.filter((pod) => !isTerminal(pod) && !isIgnored(pod));
  return nodes
    .filter((node) => whyClosed(node) === undefined)
    .map(({ metadata: { name, labels = {} }, status }) => {
      const taken = counted.filter(({ spec }) => spec.nodeName === name).map(podRequests);
      const freeOf = (resource: string): bigint =>
        taken.reduce(
          (left, requests) => left - (requests.get(resource) ?? 0n),
          parseMilli(status?.allocatable?.[resource] ?? '0') ?? 0n,
        );
      const free = new Map(resources.map((resource) => [resource as string, freeOf(resource)]));
      return { name, zone: labels[zoneLabel], free };
    });
}

/** Returns the requests of a container as amounts. */
export const amountsIn = (requests: Readonly<Record<string, string>>): Amounts =>
  new Map(Object.entries(requests).map(([name, quantity]) => [name, parseMilli(quantity) ?? 0n]));

/** Returns what a VM requests of its node. */
export const requestsOf = (compute: Compute): Amounts => amountsIn(requestsOnNode(compute));

/** Returns true if the requests fit into the room. */
export const fits = (requests: Amounts, room: Amounts): boolean =>
  [...requests].every(([resource, amount]) => amount <= (room.get(resource) ?? 0n));

/** Returns the room of all nodes together. */
export function totalRoom(rooms: readonly NodeRoom[]): Amounts {
  const total = (resource: string): bigint =>
    rooms.reduce((sum, { free }) => {
      const amount = free.get(resource) ?? 0n;
      return amount > 0n ? sum + amount : sum;
    }, 0n);
  return new Map(resources.map((resource) => [resource as string, total(resource)]));
}

/**
 * Returns the zones of the nodes: the one with the most free memory first, and those with the same in the
 * order of their names.
 */
export function zonesByRoom(rooms: readonly NodeRoom[]): string[] {
  const names = [...new Set(rooms.flatMap(({ zone }) => zone ?? []))].toSorted();
  const memory = (name: string): number =>
    Number(totalRoom(rooms.filter(({ zone }) => zone === name)).get('memory'));
  return names.toSorted((one, other) => memory(other) - memory(one));
}

const formatted = (amounts: Amounts, round: (value: number) => number): string => {
  const tenths = (resource: string, unit: number): number =>
    round((Number(amounts.get(resource) ?? 0n) / unit) * 10) / 10;
  const gibibyte = 1000 * 2 ** 30;
  const disk = tenths('ephemeral-storage', gibibyte);
  return `${tenths('cpu', 1000)} CPU, ${tenths('memory', gibibyte)} GiB of memory and ${disk} GiB of disk`;
};

/** Formats requests, rounded up, so that they never look smaller than the room into which they do not fit. */
export const describeRequests = (requests: Amounts): string => formatted(requests, Math.ceil);

/** Formats the room of nodes, rounded down. */
export const describeRoom = (room: Amounts): string => formatted(room, Math.floor);

/** Names the node with the most free memory, for a message about VMs that fit on none. */
export function describeRoomiest(rooms: readonly NodeRoom[]): string {
  const memory = ({ free }: NodeRoom): number => Number(free.get('memory') ?? 0n);
  const [roomiest] = rooms.toSorted((one, other) => memory(other) - memory(one));
  return roomiest === undefined ? 'no node is ready' : `${roomiest.name} has ${describeRoom(roomiest.free)}`;
}
