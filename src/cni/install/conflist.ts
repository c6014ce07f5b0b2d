import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { CniPaths } from './arguments.ts';
import { isSystemError } from './system-error.ts';
import { annotationsCapability } from '../plugin/requested-addresses.ts';
import { type JsonObject, isObject, tryParseJson } from '../../platform/json.ts';
import { type CniVersion, isSupported, supportedVersions, pluginType } from '../plugin/config.ts';

/**
 * The file that this program writes. Runtimes use the first file by name, compared byte by byte (containerd:
 * go-cni, libcni ConfFiles).
 */
export const managedConflistName = '00-0-static-ip.conflist';

export interface Network {
  readonly file: string;
  readonly text: string;
  /** Permission bits. */
  readonly mode: number;
}

/** Returns the configuration that the runtime would use without ours; undefined if there is none yet. */
export async function readWrappedNetwork({
  conflistDirectory,
  conflist,
}: CniPaths): Promise<Network | undefined> {
  const names = await listNetworkFiles(conflistDirectory);
  const file = conflist === undefined ? names[0] : names.find((name) => name === conflist);
  if (file === undefined) return undefined;
  const [first = file] = names;
  if (byBytes(first, managedConflistName) < 0)
    throw new ProductError(
      'STATIC_IP_NOT_INSTALLED',
      `${first} comes before ${managedConflistName}, so the runtime would not use it: rename ${first}`,
    );
  return readNetwork(conflistDirectory, file);
}

/**
 * Returns all configuration files except ours, in the order in which a runtime reads them. Only regular files
 * count, as in libcni.
 */
export async function listNetworkFiles(directory: string): Promise<readonly string[]> {
  const names = (await readdir(directory)).filter(
    (name) => /\.(conf|conflist|json)$/u.test(name) && name !== managedConflistName,
  );
  // opening a FIFO would wait for its writer
  const areFiles = await Promise.all(names.map((name) => isFile(join(directory, name))));
  return names.filter((_, index) => areFiles[index]).toSorted(byBytes);
}

/** True for a regular file. Symbolic links are followed; a dangling one is not a file. */
async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (isSystemError(error) && ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code)) return false;
    throw error;
  }
}

/** Reads a configuration; undefined if the file was deleted in the meantime. */
export async function readNetwork(directory: string, file: string): Promise<Network | undefined> {
  const path = join(directory, file);
  try {
    const [text, { mode }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
    return { file, text, mode: mode & 0o777 };
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

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
    throw problem(file, `has no cniVersion that static-ip supports (${supportedVersions.join(', ')})`);
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
        ? 'has no plugin with an ipam: name the one that takes requested addresses with --plugin'
        : `has no plugin '${plugin}'`,
    );
  return `${JSON.stringify({ ...list, plugins: plugins.with(index, wrapped(delegate, namespaces)) }, undefined, 2)}\n`;
}

/**
 * The problem of a network such as EKS': aws-cni gets addresses from a daemon, and a later plugin with an
 * ipam does not assign the address of the pod.
 */
const chained = (first: JsonObject, later: JsonObject): string =>
  `begins with plugin '${String(first['type'])}', which has no ipam and so chooses the addresses of pods itself; static-ip cannot request one from it. ` +
  `If plugin '${String(later['type'])}' is the one that takes requested addresses, name it with --plugin`;

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
const parsed = (text: string): unknown => tryParseJson(text.replace(/^\uFEFF/u, ''));

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
