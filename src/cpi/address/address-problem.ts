import type { Pod } from '../../kubernetes/pod.ts';
import { annotation } from '../labels.ts';
import { cniAddressAnnotations } from './address-strategy.ts';
import { canonicalAddress } from '../../kubernetes/ip-text.ts';
import { verifyMultusAddresses } from './network-attachments.ts';

const hintsByStrategy: readonly (readonly [string, string])[] = [
  [
    cniAddressAnnotations.calico,
    "needs Calico's own IPAM and an enabled IPPool that holds the address; where Calico only enforces policies, set " +
      'networks.address_strategy',
  ],
  [cniAddressAnnotations['kube-ovn'], 'needs a Kube-OVN subnet that holds the address'],
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
