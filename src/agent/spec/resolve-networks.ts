import { ProductError } from '../../errors/product-error.ts';
import { isObject } from '../settings/json.ts';
import type { JsonObject } from '../settings/json.ts';
import type { Network } from '../settings/settings.ts';

/**
 * Sets ip, netmask and gateway of a spec's dynamic networks (bosh-agent: concrete_v1_service.go,
 * PopulateDHCPNetworks). `ownAddress` is the VM's address, for settings without an ip. Throws
 * AGENT_ARGUMENT_INVALID if the settings do not have a network of the spec.
 */
export function resolveNetworks(
  source: JsonObject,
  networks: ReadonlyMap<string, Network>,
  ownAddress: string,
): JsonObject {
  const given = source['networks'];
  if (!isObject(given)) return source;
  const resolved = Object.entries(given).map(([name, fields]): [string, unknown] => {
    const network = networks.get(name);
    if (network === undefined) {
      throw new ProductError('AGENT_ARGUMENT_INVALID', `Network '${name}' is not found in settings`);
    }
    if (network.type !== 'dynamic') return [name, fields];
    const address = {
      ip: network.ip ?? ownAddress,
      netmask: network.netmask ?? '',
      gateway: network.gateway ?? '',
    };
    return [name, { ...(isObject(fields) ? fields : {}), ...address }];
  });
  return { ...source, networks: Object.fromEntries(resolved) };
}
