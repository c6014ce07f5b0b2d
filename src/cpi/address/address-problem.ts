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
 * Why a running pod's addresses are not those that its annotations ask for, with the remedy; undefined where they
 * are. What was asked for is read from the pod itself, so that whoever makes it anew need not know. Pure.
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

/** All addresses of a pod's own interface, the first one first. */
export function podAddresses({ status }: Pod): string[] {
  const listed = (status?.podIPs ?? []).map(({ ip }) => ip);
  const all = status?.podIP === undefined ? listed : [status.podIP, ...listed];
  return [...new Set(all.map(canonicalAddress))];
}
