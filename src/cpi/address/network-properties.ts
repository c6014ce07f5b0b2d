import { isDnsLabel, isDnsSubdomain } from '../../kubernetes/names.ts';
import type { Location } from '../input.ts';
import { child, optionalStringAt, recordAt, rejectUnknownKeys, invalidValue } from '../input.ts';
import type { VipProperties } from './vip-properties.ts';
import { parseVipProperties } from './vip-properties.ts';

export interface NetworkProperties {
  /** A NetworkAttachmentDefinition, which makes the network an interface of its own. */
  readonly attachment: { readonly namespace: string | undefined; readonly name: string } | undefined;
  /** A NetworkPolicy of create_network that applies to the VM. */
  readonly policy: string | undefined;
  /** How traffic for a network of type vip gets to the VM. */
  readonly vip: VipProperties | undefined;
}

/**
 * Parses the cloud_properties of a network in create_vm. Rejects unknown keys by name. Throws
 * INVALID_ARGUMENT.
 */
export function parseNetworkProperties(value: unknown, place: Location): NetworkProperties {
  const properties = recordAt(value, place);
  rejectUnknownKeys(properties, ['network_attachment', 'network_policy', 'vip'], place);
  const vip = properties['vip'] ?? undefined;
  return {
    attachment: readNetworkAttachment(properties['network_attachment'], child(place, 'network_attachment')),
    policy: readNetworkPolicy(properties['network_policy'], child(place, 'network_policy')),
    vip: vip === undefined ? undefined : parseVipProperties(vip, child(place, 'vip')),
  };
}

function readNetworkAttachment(value: unknown, place: Location): NetworkProperties['attachment'] {
  const text = optionalStringAt(value, place);
  if (text === undefined) return undefined;
  const slash = text.indexOf('/');
  const namespace = slash < 0 ? undefined : text.slice(0, slash);
  const name = text.slice(slash + 1);
  if (!isDnsSubdomain(name) || (namespace !== undefined && !isDnsLabel(namespace)))
    throw invalidValue(place, 'has to be the name of a NetworkAttachmentDefinition, or namespace/name');
  return { namespace, name };
}

function readNetworkPolicy(value: unknown, place: Location): string | undefined {
  const text = optionalStringAt(value, place);
  if (text !== undefined && !(text.startsWith('net-policy-') && isDnsLabel(text)))
    throw invalidValue(place, 'has to be a network that create_network made (net-policy-...)');
  return text;
}
