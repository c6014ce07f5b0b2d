import type { DirectorFacts } from './cluster-facts.ts';

/** Returns an address of a ready node: of the first of these types that a node has. */
export function nodeAddress(
  { nodes = [] }: Pick<DirectorFacts, 'nodes'>,
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
