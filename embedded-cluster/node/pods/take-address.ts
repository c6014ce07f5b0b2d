import { readFile } from 'node:fs/promises';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { listeningAddresses } from './listening-addresses.ts';
import { addressAnnotation, isPodAddress, nodeAddress, type PodAddresses } from './pod-addresses.ts';

/**
 * Returns the address of a pod: the one that it requests, its previous one, or a free one. Idempotent.
 * Rejects while another pod, or another process on the machine, uses the address.
 */
export async function waitForFreeAddress(pod: Pod, addresses: PodAddresses): Promise<string> {
  if (pod.spec.hostNetwork === true) {
    return nodeAddress;
  }
  const { uid = '', annotations } = pod.metadata;
  const wanted = annotations?.[addressAnnotation] ?? pod.status?.podIP;
  if (wanted === undefined) {
    return addresses.allocate(uid);
  }
  if (!isPodAddress(wanted)) {
    throw new Error(
      `address ${wanted} is not in 127.64.0.0 - 127.126.255.255, where the embedded node's pods live, ` +
        'one address each',
    );
  }
  if (addresses.reserve(wanted, uid).holder !== uid) {
    throw new Error(`address ${wanted} is in use by another pod`);
  }
  if (listeningAddresses(await readFile('/proc/net/tcp', 'utf8')).has(wanted)) {
    throw new Error(
      `address ${wanted} is in use by another process of this machine, perhaps of another cluster`,
    );
  }
  return wanted;
}
