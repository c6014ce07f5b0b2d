import type { Place } from '../input.ts';
import { at, recordAt, refuseUnknownKeys, wrong } from '../input.ts';
import type { PortRequest } from '../service/service-ports.ts';
import { parsePorts } from '../service/service-ports.ts';

const ways = ['load_balancer', 'external_ip', 'cluster_ip'] as const;

export interface VipProperties {
  /** What brings traffic for the address to the VM; all of them are Services. */
  readonly via: (typeof ways)[number];
  /** A Service passes on the ports that it lists, and no other. */
  readonly ports: readonly PortRequest[];
}

/** `{via, ports}`; via is load_balancer where it is left out. Throws INVALID_ARGUMENT. */
export function parseVip(value: unknown, place: Place): VipProperties {
  const vip = recordAt(value, place);
  refuseUnknownKeys(vip, ['via', 'ports'], place);
  const given = vip['via'] ?? 'load_balancer';
  const via = ways.find((way) => way === given);
  if (via === undefined) throw wrong(at(place, 'via'), `has to be one of ${ways.join(', ')}`);
  const ports = parsePorts(vip['ports'], at(place, 'ports'));
  if (ports.length === 0) throw wrong(at(place, 'ports'), 'has to list the ports that the address is for');
  return { via, ports };
}
