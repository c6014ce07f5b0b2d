import type { Stored } from '../../../src/kubernetes/object.ts';
import { isIPv4 } from 'node:net';
import { readFile } from 'node:fs/promises';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';

/** The annotation by which a pod requests its address, as the static-ip CNI plugin reads it. */
export const addressAnnotation = 'bosh.cloudfoundry.org/ip-address';

/** The address of the node and of pods on the host's network. */
export const nodeAddress = '127.0.0.1';

/**
 * Loopback addresses for pods: 127.64.0.0/10 without its upper end, 127.127.0.0/16, which is for Services
 * (embedded-cluster/api-server/kinds/service/service-allocation.ts). Addresses from 127.96.0.0 on are for
 * pods that request none.
 */
const range = { first: 0x7f400000, size: 0x3f0000 } as const;
const dynamicRange = { first: 0x7f600000, size: 0x1f0000 - 1 } as const;

const toText = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');

const toNumber = (address: string): number =>
  address.split('.').reduce((value, part) => value * 256 + Number(part), 0);

/** Returns true for an address that a pod can have here. */
export function isPodAddress(address: string): boolean {
  return isIPv4(address) && toNumber(address) >= range.first && toNumber(address) < range.first + range.size;
}

/** The addresses of the pods: one pod per address. */
export class PodAddresses {
  readonly #owners = new Map<string, string>();
  #next = 1;

  /**
   * Reserves this address for a pod. Returns the pod that has it: another one if the address is in use.
   * Idempotent.
   */
  reserve(address: string, uid: string): { readonly owner: string } {
    const owner = this.#owners.get(address) ?? uid;
    this.#owners.set(address, owner);
    return { owner };
  }

  /**
   * Reserves a free address of the upper half, round robin, so that a released address is not used again
   * soon.
   */
  allocate(uid: string): string {
    for (let tried = 0; tried < dynamicRange.size; tried += 1) {
      const address = toText(dynamicRange.first + this.#next);
      this.#next = (this.#next % (dynamicRange.size - 1)) + 1;
      if (!this.#owners.has(address)) {
        this.#owners.set(address, uid);
        return address;
      }
    }
    throw new Error('no free address in 127.96.0.0 - 127.126.255.255');
  }

  release(uid: string): void {
    for (const [address, holder] of this.#owners) {
      if (holder === uid) {
        this.#owners.delete(address);
      }
    }
  }
}

const tcpListenState = '0A';

/**
 * `0A00407F:0050` is 127.64.0.10, port 80: the address has the machine's byte order, which is little-endian
 * here.
 */
const toAddress = (field: string): string =>
  (field.slice(0, 8).match(/../g) ?? [])
    .toReversed()
    .map((byte) => Number.parseInt(byte, 16))
    .join('.');

/** Returns the IPv4 addresses on which a process listens, from the text of /proc/net/tcp (proc(5)). */
export function listeningAddresses(text: string): Set<string> {
  const sockets = text.split('\n').map((line) => line.trim().split(/\s+/));
  return new Set(
    sockets.filter(([, , , state]) => state === tcpListenState).map(([, local = '']) => toAddress(local)),
  );
}

/**
 * Returns the address of a pod: the one that it requests, its previous one, or a free one. Idempotent.
 * Rejects while another pod, or another process on the machine, uses the address.
 */
export async function waitForFreeAddress(pod: Stored<Pod>, addresses: PodAddresses): Promise<string> {
  if (pod.spec.hostNetwork === true) {
    return nodeAddress;
  }
  const { uid, annotations } = pod.metadata;
  const requested = annotations?.[addressAnnotation] ?? pod.status?.podIP;
  if (requested === undefined) {
    return addresses.allocate(uid);
  }
  if (!isPodAddress(requested)) {
    throw new Error(
      `address ${requested} is not in 127.64.0.0 - 127.126.255.255, the range of the embedded node; each of ` +
        'its pods has its own address',
    );
  }
  if (addresses.reserve(requested, uid).owner !== uid) {
    throw new Error(`address ${requested} is in use by another pod`);
  }
  if (listeningAddresses(await readFile('/proc/net/tcp', 'utf8')).has(requested)) {
    throw new Error(
      `address ${requested} is in use by another process of this machine, perhaps of another cluster`,
    );
  }
  return requested;
}
