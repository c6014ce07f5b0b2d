import { ProductError } from '../../errors/product-error.ts';
import { addressBits, bitsOf, canonicalAddress, familyOf } from '../../kubernetes/ip-text.ts';
import type { Networks } from './networks.ts';
import type { Network } from './network.ts';

/**
 * Throws VM_CREATION_FAILED for a fixed address that no VM of its subnet can have: the address of the
 * gateway, the network or broadcast address, or one outside the subnet. Skips networks without gateway or
 * netmask, because their subnet is unknown.
 */
export function assertUsableAddress({ podNetworks, multusNetworks }: Networks): void {
  for (const network of [...podNetworks, ...multusNetworks]) {
    const fault = addressProblem(network);
    if (fault === undefined) continue;
    throw new ProductError(
      'VM_CREATION_FAILED',
      `network '${network.name}': the address ${network.address ?? ''} ${fault}; choose another one in static_ips, or correct the ` +
        "subnet's range and gateway",
    );
  }
}

function addressProblem({ address, family, prefixLength, gateway }: Network): string | undefined {
  if (address === undefined || family === undefined) return undefined;
  const isGatewayOfFamily = gateway !== undefined && familyOf(gateway) === family;
  if (isGatewayOfFamily && canonicalAddress(gateway) === address) return "is the gateway's";
  if (prefixLength === undefined) return undefined;
  const bits = bitsOf(address, family);
  if (isGatewayOfFamily && !bitsOf(gateway, family).startsWith(bits.slice(0, prefixLength)))
    return `is not in the subnet of its gateway ${gateway} (/${prefixLength})`;
  const host = bits.slice(prefixLength);
  // both addresses of a /31 are hosts (RFC 3021), and IPv6 has no broadcast
  if (family === 'IPv6' || addressBits(family) - prefixLength < 2) return undefined;
  if (!host.includes('1')) return "is the subnet's own";
  return host.includes('0') ? undefined : 'is the broadcast address of its subnet';
}
