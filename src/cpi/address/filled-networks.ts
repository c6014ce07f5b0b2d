import type { Pod } from '../../kubernetes/pod.ts';
import type { Json } from '../input.ts';
import { podAddresses } from './address-problem.ts';
import { familyOf } from '../../kubernetes/ip-text.ts';
import { multusAddresses } from './network-attachments.ts';
import type { Network } from './network.ts';
import type { Networks } from './networks.ts';

/** Returns the networks as create_vm returns them: each with the address that the running pod has there. */
export function networksWithAddresses(
  { given, podNetworks, multusNetworks, vips }: Networks,
  pod: Pod,
): Record<string, Json> {
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
