import { CniError, cniErrorCode } from '../cni-error.ts';
import type { JsonObject } from '../json.ts';
import { isObject, parseJson } from '../json.ts';
import type { CniVersion } from './cni-version.ts';
import { isSupported, supportedVersions } from './cni-version.ts';

/** The name of this plugin's executable and `type`. */
export const pluginType = 'static-ip';

export interface NetworkConfig {
  readonly cniVersion: CniVersion;
  readonly name: string;
  /** The configuration of the plugin that creates the interface, as it would be in a conflist. */
  readonly delegate: JsonObject & { readonly type: string };
  readonly runtimeConfig: JsonObject;
  /** The whole configuration, for fields that are only passed on. */
  readonly all: JsonObject;
}

/** Parses the configuration on stdin, for every verb except VERSION. Throws CniError 1, 6 or 7. */
export function parseNetworkConfig(text: string): NetworkConfig {
  const all = parseJson(text);
  if (!isObject(all))
    throw new CniError(cniErrorCode.undecodable, 'the network configuration on stdin is not a JSON object');
  const { cniVersion, name, delegate, runtimeConfig = {} } = all;
  if (!isSupported(cniVersion))
    throw new CniError(
      cniErrorCode.incompatibleVersion,
      `cniVersion is ${shown(cniVersion)}: ${pluginType} speaks ${supportedVersions.join(', ')}`,
    );
  if (typeof name !== 'string' || !/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/u.test(name))
    throw invalid(`the network's name is ${shown(name)}: letters, digits, '_', '.' and '-' are allowed`);
  if (!isObject(runtimeConfig ?? {})) throw invalid('runtimeConfig is not an object');
  return {
    cniVersion,
    name,
    delegate: parseDelegate(delegate, name),
    runtimeConfig: isObject(runtimeConfig) ? runtimeConfig : {},
    all,
  };
}

function parseDelegate(delegate: unknown, network: string): NetworkConfig['delegate'] {
  if (!isObject(delegate))
    throw invalid(
      `network ${network} has no 'delegate': put the configuration of the plugin there that makes the interface`,
    );
  const { type } = delegate;
  // the type becomes a file name
  if (typeof type !== 'string' || !/^[a-zA-Z0-9_.-]+$/u.test(type) || type === '.' || type === '..')
    throw invalid(
      `the delegate of network ${network} has the type ${shown(type)}: the name of a plugin is needed`,
    );
  if (type === pluginType) throw invalid(`the delegate of network ${network} is ${pluginType} itself`);
  const { ipam } = delegate;
  if (ipam !== undefined && !isObject(ipam))
    throw invalid(`the ipam of network ${network}'s delegate is not an object`);
  return { ...delegate, type };
}

const invalid = (message: string): CniError => new CniError(cniErrorCode.invalidConfig, message);

const shown = (value: unknown): string =>
  value === undefined ? 'missing' : (JSON.stringify(value) ?? '').slice(0, 100);
