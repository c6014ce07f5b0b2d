import { createHash } from 'node:crypto';
import { bitsOf, familyOf } from '../../kubernetes/ip-text.ts';

/**
 * The hardware address that goes with fixed addresses, always the same for the same: a pod that is made anew with its address
 * would else not be reached for about a minute by those who have the former pod's in their ARP caches, since not every
 * plugin announces a new one. Locally administered; that of an IPv4 address holds it whole, so that no two collide.
 */
export function hardwareAddress(addresses: readonly string[]): string {
  const address = addresses.find((each) => familyOf(each) === 'IPv4');
  const octets =
    address === undefined
      ? [0x0e, ...createHash('sha256').update(addresses.join(',')).digest().subarray(0, 5)]
      : [
          0x0a,
          0x58,
          ...(bitsOf(address, 'IPv4').match(/.{8}/gu) ?? []).map((bits) => Number.parseInt(bits, 2)),
        ];
  return octets.map((octet) => octet.toString(16).padStart(2, '0')).join(':');
}
