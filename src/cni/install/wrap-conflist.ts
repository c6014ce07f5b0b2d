import { ProductError } from '../../errors/product-error.ts';
import { annotationsCapability } from '../address/asked-addresses.ts';
import type { JsonObject } from '../json.ts';
import { isObject, parseJson } from '../json.ts';
import type { CniVersion } from '../plugin/cni-version.ts';
import { isSupported, supportedVersions } from '../plugin/cni-version.ts';
import { pluginType } from '../plugin/network-config.ts';

export interface WrapOptions {
  /**
   * The name of the file, for messages and for its format: `.conflist` contains a list, any other file one
   * plugin.
   */
  readonly file: string;
  readonly text: string;
  /** `type` of the plugin to wrap. Default: the first one, which must then have an `ipam`. */
  readonly plugin: string | undefined;
  /** Namespaces whose pods may request an address. */
  readonly namespaces: readonly string[];
}

/**
 * Returns the network with static-ip in front of the plugin that assigns addresses. The network keeps its
 * name, because host-local's reservations and the runtime's records depend on it: existing pods are not
 * affected. Throws STATIC_IP_NOT_INSTALLED if the network cannot be wrapped.
 */
export function wrapConflist({ file, text, plugin, namespaces }: WrapOptions): string {
  const value = parsed(text);
  if (!isObject(value)) throw problem(file, 'is not a JSON object');
  const parsedList = file.endsWith('.conflist')
    ? value
    : { cniVersion: value['cniVersion'], name: value['name'], plugins: [value] };
  const list = { ...parsedList, ...versionsOf(parsedList) };
  if (list.cniVersion === undefined)
    throw problem(file, `has no cniVersion of ${supportedVersions.join(', ')}, which static-ip speaks`);
  const plugins = parsedList['plugins'];
  if (!Array.isArray(plugins) || !plugins.every(isObject)) throw problem(file, 'has no list of plugins');
  const index = plugins.findIndex((each) =>
    plugin === undefined ? isObject(each['ipam']) : each['type'] === plugin,
  );
  if (plugin === undefined && index > 0) throw problem(file, chained(plugins[0] ?? {}, plugins[index] ?? {}));
  const delegate = plugins[index];
  if (delegate === undefined)
    throw problem(
      file,
      plugin === undefined
        ? 'has no plugin with an ipam: name the one that takes requested addresses by --plugin'
        : `has no plugin '${plugin}'`,
    );
  return `${JSON.stringify({ ...list, plugins: plugins.with(index, wrapped(delegate, namespaces)) }, undefined, 2)}\n`;
}

/**
 * The problem of a network such as EKS': aws-cni gets addresses from a daemon, and a later plugin with an
 * ipam does not assign the address of the pod.
 */
const chained = (first: JsonObject, later: JsonObject): string =>
  `begins with plugin '${String(first['type'])}', which has no ipam and so gives pods their addresses by itself; static-ip cannot ask it for one. ` +
  `If plugin '${String(later['type'])}' is the one that takes requested addresses, name it by --plugin`;

/** False for a text that its owner may still be writing. */
export function isJson(text: string): boolean {
  return parsed(text) !== undefined;
}

/** True for a configuration into which someone put static-ip by hand. */
export function mentionsPlugin(text: string): boolean {
  const value = parsed(text);
  if (!isObject(value)) return false;
  const plugins: readonly unknown[] = Array.isArray(value['plugins']) ? value['plugins'] : [value];
  return plugins.some((plugin) => isObject(plugin) && plugin['type'] === pluginType);
}

/** Removes a byte order mark; the plugin does the same for stdin. */
const parsed = (text: string): unknown => parseJson(text.replace(/^\uFEFF/u, ''));

interface Versions {
  readonly cniVersion: CniVersion | undefined;
  readonly cniVersions?: readonly CniVersion[];
}

/**
 * Returns the versions for our configuration. A runtime for CNI 1.1 uses the newest version that it knows
 * from both fields (libcni, NetworkConfFromBytes), so ours lists all versions that static-ip supports. An
 * older runtime reads only `cniVersion`, and supports the oldest one if any.
 */
function versionsOf({ cniVersion, cniVersions }: JsonObject): Versions {
  if (cniVersions === undefined) return { cniVersion: isSupported(cniVersion) ? cniVersion : undefined };
  const known = Array.isArray(cniVersions) ? cniVersions.filter(isSupported) : [];
  const oldest = supportedVersions.find((version) => known.includes(version));
  return { cniVersion: isSupported(cniVersion) ? cniVersion : oldest, cniVersions: known };
}

/**
 * Wraps the delegate. A runtime passes a plugin only the capabilities that it declares, so static-ip also
 * declares those of the delegate.
 */
function wrapped(delegate: JsonObject, namespaces: readonly string[]): JsonObject {
  const { capabilities } = delegate;
  return {
    type: pluginType,
    capabilities: { ...(isObject(capabilities) && capabilities), [annotationsCapability]: true },
    namespaces,
    delegate,
  };
}

const problem = (file: string, reason: string): ProductError =>
  new ProductError('STATIC_IP_NOT_INSTALLED', `${file} ${reason}`);
