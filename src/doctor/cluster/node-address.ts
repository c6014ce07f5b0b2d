import { isSameAddress } from '../../bosh/manifest/ip-range.ts';
import type { Node } from '../../kubernetes/types/node.ts';
import type { ClusterFacts } from './cluster-facts.ts';

/** Returns an address of a ready node: of the first of these types that a node has. */
export function nodeAddress(
  { nodes = [] }: Pick<ClusterFacts, 'nodes'>,
  types: readonly string[],
): string | undefined {
  const ready = nodes.filter(({ status }) =>
    status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
  );
  const all = ready.flatMap(({ status }) => status?.addresses ?? []);
  return types
    .flatMap((addressType) => all.filter(({ type }) => type === addressType))
    .map(({ address }) => address)[0];
}

/** Returns true if a node has the address, also one that is not ready now. */
export const isNodeAddress = (nodes: readonly Node[], address: string): boolean =>
  nodes.some(({ status }) => status?.addresses?.some((each) => isSameAddress(each.address, address)));
