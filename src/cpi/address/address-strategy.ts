import { fixedIpNetwork } from '../../kubernetes/address-pinning.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { annotation } from '../labels.ts';

/** How a pod requests its address; the network of the cluster reads this. */
export const addressStrategies = ['calico', 'kube-ovn', 'static-ip'] as const;
export type AddressStrategy = (typeof addressStrategies)[number];

export const cniAddressAnnotations = {
  calico: 'cni.projectcalico.org/ipAddrs',
  'kube-ovn': 'ovn.kubernetes.io/ip_address',
} as const;

/**
 * Returns the configured strategy, or the one that the API groups of the cluster indicate. Sends one request.
 */
export async function addressStrategy(
  api: KubernetesApi,
  configured: AddressStrategy | undefined,
): Promise<AddressStrategy> {
  if (configured !== undefined) return configured;
  const groups = await api.groups();
  return fixedIpNetwork(groups) ?? 'static-ip';
}

/**
 * Returns the annotations that request these addresses, at most one of each family. The CPI's own annotation
 * is always set: it is the record of the requested addresses.
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
