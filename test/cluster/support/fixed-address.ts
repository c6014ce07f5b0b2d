import type { ClusterWorld } from './cluster-world.ts';
import { askedCluster } from './open-cluster.ts';

/** First number of each suite's fixed addresses: their files run beside each other. */
const firstOf = {
  networks: 0,
  agent: 2,
  'lost-node': 7,
  createEnv: 10,
  ssh: 23,
  recreate: 24,
  stock: 40,
} as const;
/** What all of them need together, but for what runs on the suite's own cluster alone: `stock`, and loss-driver.test.ts. */
const needed = 27;

/** For `skip` of a test that fixes an address. */
export function withoutAddresses(): string | false {
  const asked = askedCluster();
  const given = asked.kind === 'kubeconfig' ? asked.settings.addresses.length : needed;
  return (
    given < needed && `needs CONFORMANCE_ADDRESSES, ${needed} free addresses that the pod network can pin`
  );
}

/** A fixed address of the pod network that only that test uses. */
export function fixedAddress({ cluster }: ClusterWorld, suite: keyof typeof firstOf, number: number): string {
  const address = cluster.fixedAddress(firstOf[suite] + number);
  if (address === undefined) throw new Error('the cluster cannot pin addresses');
  return address;
}
