import type { ClusterWorld } from './cluster-world.ts';
import { askedCluster } from './open-cluster.ts';

/** The first number of each suite's fixed addresses. Their files run concurrently. */
const firstOf = {
  networks: 0,
  agent: 2,
  'lost-node': 7,
  createEnv: 10,
  ssh: 23,
  recreate: 24,
  stock: 40,
  director: 60,
  doctor: 90,
} as const;
/**
 * The number of addresses that all suites need together, except those that run only on the suite's own
 * cluster: `stock`, `director`, `doctor` and loss-driver.test.ts.
 */
const needed = 27;

/** Returns the `skip` option of a test with a fixed address. */
export function withoutAddresses(): string | false {
  const requested = askedCluster();
  const given = requested.kind === 'kubeconfig' ? requested.settings.addresses.length : needed;
  return (
    given < needed && `needs CONFORMANCE_ADDRESSES, ${needed} free addresses that the pod network can pin`
  );
}

/** Returns a fixed address of the pod network that only this test uses. */
export function fixedAddress({ cluster }: ClusterWorld, suite: keyof typeof firstOf, number: number): string {
  const address = cluster.fixedAddress(firstOf[suite] + number);
  if (address === undefined) throw new Error('the cluster cannot pin addresses');
  return address;
}
