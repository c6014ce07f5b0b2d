import { fixedIpNetwork } from '../../kubernetes/address-pinning.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { annotation } from '../labels.ts';

/** How a pod asks for its address; who reads that is the cluster's network. */
export const addressStrategies = ['calico', 'kube-ovn', 'static-ip'] as const;
export type AddressStrategy = (typeof addressStrategies)[number];

export const cniAddressAnnotations = {
  calico: 'cni.projectcalico.org/ipAddrs',
  'kube-ovn': 'ovn.kubernetes.io/ip_address',
} as const;

/** The configured strategy, or the one that the API groups of the cluster speak for: one request. */
export async function addressStrategy(
  api: KubernetesApi,
  configured: AddressStrategy | undefined,
): Promise<AddressStrategy> {
  if (configured !== undefined) return configured;
  const groups = await api.groups();
  return fixedIpNetwork(groups) ?? 'static-ip';
}

/**
 * The annotations that ask for these addresses, at most one of each family (kubernetes reference 2.1). Ours is always
 * there: it is the record of what was asked for.
 */
export function annotationsForAddresses(
  addresses: readonly string[],
  strategy: AddressStrategy,
): Record<string, string> {
  const own = { [annotation.ipAddress]: addresses.join(',') };
  switch (strategy) {
    case 'calico':
      return { ...own, [cniAddressAnnotations.calico]: JSON.stringify(addresses) };
    case 'kube-ovn':
      return { ...own, [cniAddressAnnotations['kube-ovn']]: addresses.join(',') };
    case 'static-ip':
      return own;
    default:
      return strategy satisfies never;
  }
}
