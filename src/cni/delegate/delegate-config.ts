import { hardwareAddress } from '../address/hardware-address.ts';
import type { IpRequestMethod } from '../address/request-way.ts';
import { openRanges } from '../address/whole-subnets.ts';
import type { JsonObject } from '../json.ts';
import { isObject } from '../json.ts';
import type { NetworkConfig } from '../plugin/network-config.ts';

/**
 * What the delegate reads: its own configuration with what a runtime puts into every one. Of runtimeConfig it gets the
 * capabilities that it declares, as if the runtime called it. Pure.
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

/** The same for ADD with these addresses; CNI_ARGS is the caller's. Throws CniError 7 or 102. Pure. */
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

/** `bridge` alone: pods behind it are neighbours, and it takes one (plugins/main/bridge, capability `mac`). */
function withHardwareAddress(config: JsonObject, addresses: readonly string[]): JsonObject {
  const { type, runtimeConfig } = config;
  if (type !== 'bridge') return config;
  const given = isObject(runtimeConfig) ? runtimeConfig : {};
  return { ...config, runtimeConfig: { mac: hardwareAddress(addresses), ...given } };
}

/** `cni` is merged too; what `last` says wins. */
function mergedArgs(first: unknown, last: unknown): JsonObject | undefined {
  if (!isObject(last)) return isObject(first) ? first : undefined;
  if (!isObject(first)) return last;
  const cni = { ...(isObject(first['cni']) && first['cni']), ...(isObject(last['cni']) && last['cni']) };
  return { ...first, ...last, ...(Object.keys(cni).length > 0 && { cni }) };
}
