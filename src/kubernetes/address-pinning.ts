/** Pod networks that give a pod its requested address. Their API groups identify them. */
export type PinningNetwork = 'calico' | 'kube-ovn';

/** Kube-OVN comes first: a cluster may have Calico's groups only for its network policies. */
const indicatorResources: readonly (readonly [string, PinningNetwork])[] = [
  ['kubeovn.io', 'kube-ovn'],
  ['crd.projectcalico.org', 'calico'],
  ['projectcalico.org', 'calico'],
];

/** Returns the pod network that the API groups of a cluster identify; undefined if there is none. */
export function fixedIpNetwork(groups: readonly string[]): PinningNetwork | undefined {
  return indicatorResources.find(([group]) => groups.includes(group))?.[1];
}
