import { ProductError } from '../../errors/product-error.ts';
import { isObject, type JsonObject } from '../../platform/json.ts';
import type { Network } from '../settings/settings.ts';
import { lookup } from 'node:dns/promises';
import { hostname, networkInterfaces } from 'node:os';
import { errorCode } from '../file/error-code.ts';

/**
 * Sets ip, netmask and gateway of a spec's dynamic networks (bosh-agent: concrete_v1_service.go,
 * PopulateDHCPNetworks). `vmAddress` is the VM's own address, for settings without an ip. Throws
 * AGENT_ARGUMENT_INVALID if the settings do not have a network of the spec.
 */
export function resolveNetworks(
  source: JsonObject,
  networks: ReadonlyMap<string, Network>,
  vmAddress: string,
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
      ip: network.ip ?? vmAddress,
      netmask: network.netmask ?? '',
      gateway: network.gateway ?? '',
    };
    return [name, { ...(isObject(fields) ? fields : {}), ...address }];
  });
  return { ...source, networks: Object.fromEntries(resolved) };
}

/**
 * Returns the VM's own IPv4 address: the one of its host name (the kubelet writes it to /etc/hosts),
 * otherwise the first one that is not loopback, otherwise an empty text.
 */
export async function ownAddress(): Promise<string> {
  const named = await addressOfHostname();
  if (named !== undefined && named !== '127.0.0.1' && named !== '127.0.1.1') return named;
  const addresses = Object.values(networkInterfaces()).flatMap((args) => args ?? []);
  return addresses.find((entry) => entry.family === 'IPv4' && !entry.internal)?.address ?? named ?? '';
}

async function addressOfHostname(): Promise<string | undefined> {
  try {
    return (await lookup(hostname(), 4)).address;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return undefined;
    throw error;
  }
}
