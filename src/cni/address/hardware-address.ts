import { createHash } from 'node:crypto';
import { bitsOf, familyOf } from '../../kubernetes/ip-text.ts';

/**
 * Returns the hardware address for fixed addresses, always the same for the same addresses. Otherwise a
 * recreated pod with its previous address could not be reached for about a minute from hosts with the
 * previous pod in their ARP caches, because not every plugin announces a new hardware address. The result is
 * locally administered. For an IPv4 address it contains the whole address, so that no two collide.
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
