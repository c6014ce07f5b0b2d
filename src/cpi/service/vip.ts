import { ProductError } from '../../errors/product-error.ts';
import type { Service } from '../../kubernetes/types/service.ts';
import { waitForObject } from '../objects/wait-for-object.ts';
import type { Network } from '../network/networks.ts';
import { canonicalAddress } from '../../platform/ip-address.ts';
import type { CallContext } from '../call.ts';
import { eventsOf } from '../objects/describe-pending.ts';
import { labelValue } from '../objects/names.ts';
import { serviceReference } from './service-object.ts';
import type { ServiceRequest } from './service-properties.ts';

/** Returns the Service of a network of type vip: for one VM at a time, with the address in its name. */
export function vipService({ address = '', properties: { vip } }: Network): ServiceRequest[] {
  if (vip === undefined) return [];
  const { via, ports } = vip;
  return [
    {
      name: vipName(address),
      type: via === 'load_balancer' ? 'LoadBalancer' : 'ClusterIP',
      clusterIp: via === 'cluster_ip' ? address : undefined,
      ports,
      selector: 'vm',
      annotations: {},
      loadBalancerIp: via === 'load_balancer' ? address : undefined,
      loadBalancerClass: undefined,
      externalIps: via === 'external_ip' ? [address] : [],
    },
  ];
}

/**
 * Returns the name of the Service. It has no dots and colons and begins with a letter, as Services' names
 * must.
 */
const vipName = (address: string): string =>
  address.includes('.') ? `vip-${address.replaceAll('.', '-')}` : labelValue(`vip-${address}`).toLowerCase();

/**
 * Waits until each load balancer has the requested address. Rejects with VM_CREATION_FAILED for another
 * address, with DEADLINE if none is assigned.
 */
export async function waitForVips(call: CallContext, vips: readonly Network[]): Promise<void> {
  const balanced = vips.filter(({ properties }) => properties.vip?.via === 'load_balancer');
  await Promise.all(balanced.map((network) => waitForVip(call, network.address ?? '')));
}

async function waitForVip(call: CallContext, address: string): Promise<void> {
  const name = vipName(address);
  const assigned = await waitForObject<Service, readonly string[]>(call, {
    reference: serviceReference(call, name),
    condition: (service) => {
      const ingress = service?.status?.loadBalancer?.ingress ?? [];
      return ingress.length === 0 ? undefined : ingress.map(({ ip, hostname }) => ip ?? hostname ?? '');
    },
    awaited: `a load balancer with the address ${address} (Service ${name})`,
    deadlineMs: call.config.deadlines.createVm * 1000,
    describeState: async () => {
      const events = await eventsOf(call, { namespace: call.namespace, name, kind: 'Service' });
      return {
        state: `${events === '' ? '' : `events: ${events}; `}no load balancer has assigned an address`,
        next: 'check that this cluster has a load balancer for Services, and read its log',
      };
    },
  });
  if (assigned.map(canonicalAddress).includes(address)) return;
  throw new ProductError(
    'VM_CREATION_FAILED',
    `the load balancer gave Service ${name} the address ${assigned.join(', ')} instead of ${address}; use a load ` +
      'balancer that supports loadBalancerIP, or set vip.via to external_ip or cluster_ip',
  );
}
