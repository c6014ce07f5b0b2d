import { hardwareAddress } from '../address/hardware-address.ts';
import type { IpRequestMethod } from '../address/request-way.ts';
import { openRanges } from '../address/whole-subnets.ts';
import type { JsonObject } from '../json.ts';
import { isObject } from '../json.ts';
import type { NetworkConfig } from '../plugin/network-config.ts';

/**
 * Returns the input of the delegate: its own configuration with the fields that a runtime adds to every
 * configuration. From runtimeConfig it gets the capabilities that it declares, as if the runtime called it.
 */
export function delegateConfig({
  cniVersion,
  name,
  delegate,
  runtimeConfig,
  all,
}: NetworkConfig): JsonObject {
  const { capabilities } = delegate;
  const declared = Object.entries(runtimeConfig).filter(
    ([key]) => isObject(capabilities) && capabilities[key] === true,
  );
  const fromRuntime = Object.entries(all).filter(
    ([key]) => key === 'prevResult' || key.startsWith('cni.dev/'),
  );
  const args = mergedArgs(all['args'], delegate['args']);
  return {
    ...delegate,
    ...Object.fromEntries(fromRuntime),
    ...(args !== undefined && { args }),
    ...(declared.length > 0 && { runtimeConfig: Object.fromEntries(declared) }),
    cniVersion,
    name,
  };
}

/**
 * Returns the input of the delegate for ADD with these addresses; the caller sets CNI_ARGS. Throws CniError 7
 * or 102.
 */
export function delegateConfigFor(
  config: NetworkConfig,
  addresses: readonly string[],
  way: IpRequestMethod,
): JsonObject {
  const plain = withHardwareAddress(withOpenRanges(delegateConfig(config), addresses), addresses);
  switch (way) {
    case 'runtimeConfig.ips': {
      const { runtimeConfig } = plain;
      return { ...plain, runtimeConfig: { ...(isObject(runtimeConfig) && runtimeConfig), ips: addresses } };
    }
    case 'args.cni.ips':
      return { ...plain, args: mergedArgs(plain['args'], { cni: { ips: addresses } }) };
    case 'CNI_ARGS':
      return plain;
    default:
      return way satisfies never;
  }
}

function withOpenRanges(config: JsonObject, addresses: readonly string[]): JsonObject {
  const { ipam } = config;
  return isObject(ipam) && ipam['type'] === 'host-local'
    ? { ...config, ipam: openRanges(ipam, addresses) }
    : config;
}

/**
 * Only for `bridge`: pods on it share a network segment, and it accepts a hardware address
 * (plugins/main/bridge, capability `mac`).
 */
function withHardwareAddress(config: JsonObject, addresses: readonly string[]): JsonObject {
  const { type, runtimeConfig } = config;
  if (type !== 'bridge') return config;
  const given = isObject(runtimeConfig) ? runtimeConfig : {};
  return { ...config, runtimeConfig: { mac: hardwareAddress(addresses), ...given } };
}

/** Merges args, including their field `cni`; values of `last` win. */
function mergedArgs(first: unknown, last: unknown): JsonObject | undefined {
  if (!isObject(last)) return isObject(first) ? first : undefined;
  if (!isObject(first)) return last;
  const cni = { ...(isObject(first['cni']) && first['cni']), ...(isObject(last['cni']) && last['cni']) };
  return { ...first, ...last, ...(Object.keys(cni).length > 0 && { cni }) };
}
