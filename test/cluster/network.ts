/**
 * The addresses of every test cluster. Each cluster has its own network namespaces without a route to the
 * outside, so that several clusters can use the same addresses. Nodes and pods share one network, so an
 * address can move from node to node.
 */
export const network = {
  prefixLength: 16,
  subnet: '10.77.0.0/16',
  controlPlane: '10.77.0.1',
  services: '10.96.0.0/16',
  /** The address of the Service `kubernetes`: the first of the range. */
  apiService: '10.96.0.1',
  dns: '10.96.0.10',
  /** The addresses of pods that request none. */
  pods: { first: '10.77.1.1', last: '10.77.99.250' },
} as const;

export const apiServer = `https://${network.controlPlane}:6443`;

export interface NodePlan {
  readonly name: string;
  readonly address: string;
  readonly zone: string;
}

export const nodePlans: readonly NodePlan[] = [
  { name: 'node-1', address: '10.77.0.11', zone: 'z1' },
  { name: 'node-2', address: '10.77.0.12', zone: 'z2' },
];

/** Addresses for tests with fixed addresses. They are outside of the range of other pods. */
export const fixedAddresses: readonly string[] = Array.from(
  { length: 200 },
  (_, index) => `10.77.100.${index + 1}`,
);
