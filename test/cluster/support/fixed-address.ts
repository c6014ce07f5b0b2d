import type { ClusterWorld } from './cluster-world.ts';

/** First number of each suite's fixed addresses, ten or as many as it needs: their files run beside each other. */
const firstOf = { agent: 0, networks: 10, profiles: 20, 'lost-node': 30, createEnv: 100 } as const;

/** A fixed address of the pod network that only that test uses. */
export function fixedAddress({ cluster }: ClusterWorld, suite: keyof typeof firstOf, number: number): string {
  const address = cluster.fixedAddress(firstOf[suite] + number);
  if (address === undefined) throw new Error('the cluster cannot pin addresses');
  return address;
}
