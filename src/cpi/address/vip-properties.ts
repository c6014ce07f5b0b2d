import type { Location } from '../input.ts';
import { child, recordAt, rejectUnknownKeys, invalidValue } from '../input.ts';
import type { PortRequest } from '../service/service-ports.ts';
import { parsePorts } from '../service/service-ports.ts';

const vipTypes = ['load_balancer', 'external_ip', 'cluster_ip'] as const;

export interface VipProperties {
  /** What brings traffic for the address to the VM; all of them are Services. */
  readonly via: (typeof vipTypes)[number];
  /** A Service passes on the ports that it lists, and no other. */
  readonly ports: readonly PortRequest[];
}

/** `{via, ports}`; via is load_balancer where it is left out. Throws INVALID_ARGUMENT. */
export function parseVipProperties(value: unknown, place: Location): VipProperties {
  const vip = recordAt(value, place);
  rejectUnknownKeys(vip, ['via', 'ports'], place);
  const given = vip['via'] ?? 'load_balancer';
  const via = vipTypes.find((way) => way === given);
  if (via === undefined) throw invalidValue(child(place, 'via'), `has to be one of ${vipTypes.join(', ')}`);
  const ports = parsePorts(vip['ports'], child(place, 'ports'));
  if (ports.length === 0)
    throw invalidValue(child(place, 'ports'), 'has to list the ports that the address is for');
  return { via, ports };
}
