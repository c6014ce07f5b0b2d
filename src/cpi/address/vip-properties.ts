import type { Location } from '../input.ts';
import { child, recordAt, rejectUnknownKeys, invalidValue } from '../input.ts';
import type { PortRequest } from '../service/service-ports.ts';
import { parsePorts } from '../service/service-ports.ts';

const vipTypes = ['load_balancer', 'external_ip', 'cluster_ip'] as const;

export interface VipProperties {
  /** How traffic for the address gets to the VM; each way is a Service. */
  readonly via: (typeof vipTypes)[number];
  /** A Service forwards only the ports that it lists. */
  readonly ports: readonly PortRequest[];
}

/** Parses `{via, ports}`; the default of via is load_balancer. Throws INVALID_ARGUMENT. */
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
