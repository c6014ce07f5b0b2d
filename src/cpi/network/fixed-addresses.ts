import type { AddressStrategy } from '../config/config.ts';
import { fixedIpNetwork } from '../../kubernetes/address-pinning.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { annotation } from '../objects/labels.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { canonicalAddress, familyOf } from '../../platform/ip-address.ts';
import { verifyMultusAddresses, multus, multusAddresses } from './multus.ts';
import type { JsonObject } from '../../platform/json.ts';
import type { Network, Networks } from './networks.ts';

export const cniAddressAnnotations = {
  calico: 'cni.projectcalico.org/ipAddrs',
  'kube-ovn': 'ovn.kubernetes.io/ip_address',
} as const;

/**
 * Returns the configured strategy, or the strategy that the API groups of the cluster indicate. Sends one
 * request.
 */
export async function findAddressStrategy(
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

const hintsByStrategy: readonly (readonly [string, string])[] = [
  [
    cniAddressAnnotations.calico,
    "needs Calico's own IPAM and an enabled IPPool that contains the address; if Calico only enforces policies, set " +
      'networks.address_strategy',
  ],
  [cniAddressAnnotations['kube-ovn'], 'needs a Kube-OVN subnet that contains the address'],
  [
    annotation.ipAddress,
    'needs a network that reads it: install the static-ip CNI plugin, set networks.address_strategy, or use a ' +
      'dynamic network',
  ],
];

/**
 * Returns why a running pod does not have the addresses that its annotations request, with the next step;
 * undefined if it has them. Reads the requested addresses from the pod's annotations, so that code which
 * recreates the pod needs no other input.
 */
export function verifyPodAddresses(pod: Pod): string | undefined {
  const { annotations = {} } = pod.metadata;
  const wanted = (annotations[annotation.ipAddress] ?? '').split(',').filter((address) => address !== '');
  const present = podAddresses(pod);
  const missing = wanted.filter((address) => !present.includes(canonicalAddress(address)));
  if (missing.length === 0) return verifyMultusAddresses(pod);
  const [key, needs] = hintsByStrategy.find(([name]) => annotations[name] !== undefined) ?? ['', ''];
  return (
    `it got the address ${present.join(' and ') || 'none'} instead of ${wanted.join(' and ')}: the annotation ` +
    `${key} ${needs}`
  );
}

/** Returns all addresses of a pod's own interface, the primary one first. */
export function podAddresses({ status }: Pod): string[] {
  const listed = (status?.podIPs ?? []).map(({ ip }) => ip);
  const all = status?.podIP === undefined ? listed : [status.podIP, ...listed];
  return [...new Set(all.map(canonicalAddress))];
}

/** Returns the fixed addresses that a VM's pod was created with, for messages; undefined if it has none. */
export function requestedAddresses({ metadata: { annotations = {} } }: Pod): string | undefined {
  const attached = annotations[multus.networks];
  const all = [
    annotations[annotation.ipAddress],
    attached?.includes('"ips"') === true ? attached : undefined,
  ];
  const given = all.filter((text) => text !== undefined);
  return given.length === 0 ? undefined : given.join(' and ');
}

/** Returns the networks as create_vm returns them: each with the address that the running pod has there. */
export function networksWithAddresses(
  { given, podNetworks, multusNetworks, vips }: Networks,
  pod: Pod,
): Record<string, JsonObject> {
  const addresses = new Map<string, string | undefined>([
    ...podNetworks.map((network) => [network.name, podAddress(network, pod)] as const),
    ...multusNetworks.map(
      (network) => [network.name, network.address ?? multusAddress(network, pod)] as const,
    ),
    ...vips.map(({ name, address }) => [name, address] as const),
  ]);
  const filled = Object.entries(given).map(([name, network]) => {
    const ip = addresses.get(name);
    return [name, ip === undefined ? network : { ...network, ip }] as const;
  });
  return Object.fromEntries(filled);
}

function podAddress({ address, family }: Network, pod: Pod): string | undefined {
  if (address !== undefined) return address;
  const all = podAddresses(pod);
  return family === undefined ? all[0] : all.find((each) => familyOf(each) === family);
}

const multusAddress = ({ properties: { attachment } }: Network, pod: Pod): string | undefined =>
  attachment === undefined ? undefined : multusAddresses(pod, attachment.namespace, attachment.name)[0];
