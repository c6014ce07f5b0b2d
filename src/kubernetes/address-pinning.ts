/** Networks that give a pod the address that it asks for, told by an API group of their own. */
export type PinningNetwork = 'calico' | 'kube-ovn';

/** Kube-OVN first: Calico's groups may be there for its policies alone. */
const indicatorResources: readonly (readonly [string, PinningNetwork])[] = [
  ['kubeovn.io', 'kube-ovn'],
  ['crd.projectcalico.org', 'calico'],
  ['projectcalico.org', 'calico'],
];

/** The network that the API groups of a cluster speak for; undefined where none does. Pure. */
export function fixedIpNetwork(groups: readonly string[]): PinningNetwork | undefined {
  return indicatorResources.find(([group]) => groups.includes(group))?.[1];
}
