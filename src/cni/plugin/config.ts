import { CniError, cniErrorCode } from '../cni-error.ts';
import { type JsonObject, isObject, tryParseJson } from '../../platform/json.ts';

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
  const all = tryParseJson(text);
  if (!isObject(all))
    throw new CniError(cniErrorCode.undecodable, 'the network configuration on stdin is not a JSON object');
  const { cniVersion, name, delegate, runtimeConfig = {} } = all;
  if (!isSupported(cniVersion))
    throw new CniError(
      cniErrorCode.incompatibleVersion,
      `cniVersion is ${shown(cniVersion)}: ${pluginType} supports ${supportedVersions.join(', ')}`,
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
      `network ${network} has no 'delegate': it must be the configuration of the plugin that creates the interface`,
    );
  const { type } = delegate;
  // the type becomes a file name
  if (typeof type !== 'string' || !/^[a-zA-Z0-9_.-]+$/u.test(type) || type === '.' || type === '..')
    throw invalid(
      `the delegate of network ${network} has the type ${shown(type)}: it must be the name of a plugin`,
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

export const verbs = ['ADD', 'DEL', 'CHECK', 'GC', 'STATUS', 'VERSION'] as const;
export type Verb = (typeof verbs)[number];

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Call {
  readonly verb: Verb;
  /** The plugin directories of CNI_PATH; empty for VERSION. */
  readonly path: readonly string[];
}

/**
 * The variables of the verbs for one container. Only DEL may come when the network namespace no longer
 * exists.
 */
const ofContainer = ['CNI_CONTAINERID', 'CNI_IFNAME'] as const;
const required: Readonly<Record<Verb, readonly string[]>> = {
  ADD: [...ofContainer, 'CNI_NETNS', 'CNI_PATH'],
  CHECK: [...ofContainer, 'CNI_NETNS', 'CNI_PATH'],
  DEL: [...ofContainer, 'CNI_PATH'],
  GC: ['CNI_PATH'],
  STATUS: ['CNI_PATH'],
  VERSION: [],
};

/** Parses the environment of a call (CNI spec 1.1, section 2). Throws CniError 4. */
export function parseEnvironment(environment: Environment): Call {
  const verb = verbs.find((known) => known === environment['CNI_COMMAND']);
  if (verb === undefined)
    throw invalidVariable(
      `CNI_COMMAND is ${shown(environment['CNI_COMMAND'])}: it must be one of ${verbs.join(', ')}`,
    );
  const missing = required[verb].filter((name) => (environment[name] ?? '') === '');
  if (missing.length > 0) throw invalidVariable(`${verb} needs ${missing.join(', ')} in the environment`);
  if (required[verb].includes('CNI_CONTAINERID')) checkContainer(environment);
  return { verb, path: (environment['CNI_PATH'] ?? '').split(':').filter((directory) => directory !== '') };
}

function checkContainer(environment: Environment): void {
  const id = environment['CNI_CONTAINERID'] ?? '';
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/u.test(id))
    throw invalidVariable(`CNI_CONTAINERID is ${shown(id)}: letters, digits, '_', '.' and '-' are allowed`);
  const name = environment['CNI_IFNAME'] ?? '';
  if (name === '.' || name === '..' || Buffer.byteLength(name) > 15 || /[/:\s]/u.test(name))
    throw invalidVariable(`CNI_IFNAME is ${shown(name)}: that is not a valid name of a network interface`);
}

const invalidVariable = (message: string): CniError => new CniError(cniErrorCode.invalidEnvironment, message);

/** Versions of the CNI spec that this plugin supports, oldest first. */
export const supportedVersions = ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const;

export type CniVersion = (typeof supportedVersions)[number];

export const newestVersion: CniVersion = '1.1.0';

export function isSupported(text: unknown): text is CniVersion {
  return supportedVersions.some((version) => version === text);
}

/** True if `version` is `than` or newer. */
export function isAtLeast(version: CniVersion, minimum: CniVersion): boolean {
  return supportedVersions.indexOf(version) >= supportedVersions.indexOf(minimum);
}
