import { isDnsLabel, isDnsSubdomain } from '../../kubernetes/names.ts';
import type { Place } from '../input.ts';
import { at, optionalStringAt, recordAt, refuseUnknownKeys, wrong } from '../input.ts';
import type { VipProperties } from './vip-properties.ts';
import { parseVip } from './vip-properties.ts';

export interface NetworkProperties {
  /** A NetworkAttachmentDefinition, by which the network is an interface of its own. */
  readonly attachment: { readonly namespace: string | undefined; readonly name: string } | undefined;
  /** A NetworkPolicy of create_network that the VM comes under. */
  readonly policy: string | undefined;
  /** How a network of type vip is done. */
  readonly vip: VipProperties | undefined;
}

/** cloud_properties of a network as create_vm gets it. Unknown keys are refused by name. Throws INVALID_ARGUMENT. */
export function parseNetworkProperties(value: unknown, place: Place): NetworkProperties {
  const properties = recordAt(value, place);
  refuseUnknownKeys(properties, ['network_attachment', 'network_policy', 'vip'], place);
  const vip = properties['vip'] ?? undefined;
  return {
    attachment: attachmentAt(properties['network_attachment'], at(place, 'network_attachment')),
    policy: policyAt(properties['network_policy'], at(place, 'network_policy')),
    vip: vip === undefined ? undefined : parseVip(vip, at(place, 'vip')),
  };
}

function attachmentAt(value: unknown, place: Place): NetworkProperties['attachment'] {
  const text = optionalStringAt(value, place);
  if (text === undefined) return undefined;
  const slash = text.indexOf('/');
  const namespace = slash < 0 ? undefined : text.slice(0, slash);
  const name = text.slice(slash + 1);
  if (!isDnsSubdomain(name) || (namespace !== undefined && !isDnsLabel(namespace)))
    throw wrong(place, 'has to be the name of a NetworkAttachmentDefinition, or namespace/name');
  return { namespace, name };
}

function policyAt(value: unknown, place: Place): string | undefined {
  const text = optionalStringAt(value, place);
  if (text !== undefined && !(text.startsWith('net-policy-') && isDnsLabel(text)))
    throw wrong(place, 'has to be a network that create_network made (net-policy-...)');
  return text;
}
