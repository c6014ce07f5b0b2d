import { ProductError } from '../../errors/product-error.ts';
import { annotationsCapability } from '../address/asked-addresses.ts';
import type { JsonObject } from '../json.ts';
import { isObject, parseJson } from '../json.ts';
import type { CniVersion } from '../plugin/cni-version.ts';
import { isSupported, supportedVersions } from '../plugin/cni-version.ts';
import { pluginType } from '../plugin/network-config.ts';

export interface WrapOptions {
  /** The file's name, for messages and for its form: `.conflist` holds a list, anything else one plugin. */
  readonly file: string;
  readonly text: string;
  /** `type` of the plugin to stand before; absent: the first one, which then has to have an `ipam`. */
  readonly plugin: string | undefined;
  /** Whose pods may ask for an address. */
  readonly namespaces: readonly string[];
}

/**
 * The same network with static-ip before the plugin that gives addresses. The network's name stays, because
 * host-local's reservations and the runtime's records are kept by it: pods that are there already are not
 * affected. Throws STATIC_IP_NOT_INSTALLED where that cannot be done. Pure.
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
 * As on EKS, whose aws-cni asks a daemon: the plugin with an ipam behind it does not give the pod its
 * address.
 */
const chained = (first: JsonObject, later: JsonObject): string =>
  `begins with plugin '${String(first['type'])}', which has no ipam and so gives pods their addresses by itself; static-ip cannot ask it for one. ` +
  `If plugin '${String(later['type'])}' is the one that takes requested addresses, name it by --plugin`;

/** False for what its owner may be in the middle of writing. */
export function isJson(text: string): boolean {
  return parsed(text) !== undefined;
}

/** True for a configuration that somebody put static-ip into by hand. */
export function mentionsPlugin(text: string): boolean {
  const value = parsed(text);
  if (!isObject(value)) return false;
  const plugins: readonly unknown[] = Array.isArray(value['plugins']) ? value['plugins'] : [value];
  return plugins.some((plugin) => isObject(plugin) && plugin['type'] === pluginType);
}

/** A byte order mark is no part of it: stdin of the plugin loses it, too. */
const parsed = (text: string): unknown => parseJson(text.replace(/^\uFEFF/u, ''));

interface Versions {
  readonly cniVersion: CniVersion | undefined;
  readonly cniVersions?: readonly CniVersion[];
}

/**
 * A runtime that speaks CNI 1.1 takes the newest that it knows of both fields (libcni, NetworkConfFromBytes),
 * so ours holds what static-ip knows of them; an older one reads `cniVersion` alone, and knows the oldest if
 * any.
 */
function versionsOf({ cniVersion, cniVersions }: JsonObject): Versions {
  if (cniVersions === undefined) return { cniVersion: isSupported(cniVersion) ? cniVersion : undefined };
  const known = Array.isArray(cniVersions) ? cniVersions.filter(isSupported) : [];
  const oldest = supportedVersions.find((version) => known.includes(version));
  return { cniVersion: isSupported(cniVersion) ? cniVersion : oldest, cniVersions: known };
}

/** A runtime gives a plugin what it declares, so what the delegate declares is declared for it too. */
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
