import { type Deadlines, parseDeadlines } from './deadlines.ts';
import { type KubernetesConfig, parseKubernetes } from './cluster-access.ts';
import { mergeLayers } from './layers.ts';
import { type RegistryConfig, parseRegistry } from './registry.ts';
import {
  type Json,
  type Location,
  child,
  optionalStringAt,
  recordAt,
  rejectUnknownKeys,
  stringsAt,
  booleanAt,
  invalidValue,
  positiveIntegerAt,
} from '../input.ts';
import { type SecurityProfile, optionalProfileAt } from './profile.ts';
import { type Resources, withDefaults, parseResources } from './resources.ts';

export interface CpiConfig {
  readonly kubernetes: KubernetesConfig;
  readonly proxies: ProxyVariables;
  readonly deadlines: Deadlines;
  readonly networks: NetworksConfig;
  readonly agent: AgentConfig;
  readonly defaults: Defaults;
  /** Undefined: create_stemcell accepts light stemcells only. */
  readonly registry: RegistryConfig | undefined;
}

/**
 * Parses the configuration of one call: `file` is what the job rendered, `request` the request's context,
 * `contextName` the context that its cids or cloud_properties name (config/layers.ts states the precedence).
 * Each section rejects unknown keys by name. Throws INVALID_CONFIG, which never quotes a value.
 */
export function parseConfig(file: unknown, request: Readonly<Json>, contextName?: string): CpiConfig {
  const place: Location = { code: 'INVALID_CONFIG', path: 'config' };
  const { sections, kubeconfigContext } = mergeLayers({ file, request, contextName }, place);
  const kubernetes = parseKubernetes(sections['kubernetes'], child(place, 'kubernetes'));
  return {
    kubernetes: kubeconfigContext === undefined ? kubernetes : inContext(kubernetes, kubeconfigContext),
    proxies: parseProxyVariables(sections['env'], child(place, 'env')),
    deadlines: parseDeadlines(sections['deadlines'], child(place, 'deadlines')),
    networks: parseNetworksConfig(sections['networks'], child(place, 'networks')),
    agent: parseAgent(sections['agent'], child(place, 'agent')),
    defaults: parseDefaults(sections['defaults'], child(place, 'defaults')),
    registry: parseRegistry(sections['registry'], child(place, 'registry')),
  };
}

/**
 * A named context of the kubeconfig brings its own namespace. The namespace of the CPI is the default for a
 * context without one.
 */
function inContext(kubernetes: KubernetesConfig, context: string): KubernetesConfig {
  return { ...kubernetes, context, namespace: undefined, defaultNamespace: kubernetes.namespace };
}

/** The settings of the agents; the env of a VM wins. */
export interface AgentConfig {
  /** Secret: contains a password. */
  readonly mbus: string | undefined;
  readonly ntp: readonly string[];
  /** Secret: may contain credentials. */
  readonly blobstore: Json | undefined;
}

/** Parses the section `agent`. Throws INVALID_CONFIG. */
export function parseAgent(value: unknown, place: Location): AgentConfig {
  const section = recordAt(value, place);
  rejectUnknownKeys(section, ['mbus', 'ntp', 'blobstore'], place);
  const blobstore = section['blobstore'] ?? undefined;
  return {
    mbus: optionalStringAt(section['mbus'], child(place, 'mbus')),
    ntp: stringsAt(section['ntp'], child(place, 'ntp')),
    blobstore: blobstore === undefined ? undefined : recordAt(blobstore, child(place, 'blobstore')),
  };
}

export interface NetworksConfig {
  /** Undefined: the strategy follows from the API groups of the cluster. */
  readonly addressStrategy: AddressStrategy | undefined;
  /** The cluster's network is known to enforce NetworkPolicies. */
  readonly networkPolicy: boolean;
}

/** Parses the section `networks`. Throws INVALID_CONFIG. */
export function parseNetworksConfig(value: unknown, place: Location): NetworksConfig {
  const section = recordAt(value, place);
  rejectUnknownKeys(section, ['address_strategy', 'network_policy'], place);
  return {
    addressStrategy: strategyAt(section['address_strategy'], child(place, 'address_strategy')),
    networkPolicy: booleanAt(section['network_policy'], child(place, 'network_policy')) ?? false,
  };
}

function strategyAt(value: unknown, place: Location): AddressStrategy | undefined {
  if (value === undefined || value === null || value === 'auto') return undefined;
  const strategy = addressStrategies.find((known) => known === value);
  if (strategy === undefined)
    throw invalidValue(place, `has to be one of auto, ${addressStrategies.join(', ')}`);
  return strategy;
}

/** The variables that a director removes from the environment of a CPI. The names are those of other CPIs. */
const variableNames = ['http_proxy', 'https_proxy', 'no_proxy'] as const;

/** Proxy variables as a process has them, in both spellings. Secret: a URL may contain a password. */
export type ProxyVariables = Readonly<Record<string, string>>;

/**
 * Parses the section `env`: https_proxy and no_proxy apply to the API server, all three are in the
 * environment of exec plugins. They override those of this process. Throws INVALID_CONFIG.
 */
export function parseProxyVariables(value: unknown, place: Location): ProxyVariables {
  const section = recordAt(value, place);
  rejectUnknownKeys(section, variableNames, place);
  const given: Record<string, string> = {};
  for (const name of variableNames) {
    const text = optionalStringAt(section[name], child(place, name));
    if (text !== undefined) Object.assign(given, { [name]: text, [name.toUpperCase()]: text });
  }
  return given;
}

/** The defaults for VMs whose cloud_properties do not set a value. */
export interface Defaults {
  readonly resources: Resources;
  readonly ephemeralDisk: EphemeralDisk;
  readonly profile: SecurityProfile;
}

/** Parses the section `defaults`. Throws INVALID_CONFIG. */
export function parseDefaults(value: unknown, place: Location): Defaults {
  const section = recordAt(value, place);
  rejectUnknownKeys(section, ['resources', 'ephemeral_disk', 'profile'], place);
  const resources = parseResources(section['resources'], child(place, 'resources'));
  return {
    // a VM without requests would be the first that a node under pressure evicts
    resources: withDefaults(resources, { requests: { cpu: '100m', memory: '128Mi' }, limits: {} }),
    ephemeralDisk: parseEphemeralDisk(section['ephemeral_disk'], child(place, 'ephemeral_disk'), {
      sizeMiB: 1024,
      storageClass: undefined,
    }),
    profile: optionalProfileAt(section['profile'], child(place, 'profile')) ?? 'privileged',
  };
}

export interface EphemeralDisk {
  readonly sizeMiB: number;
  /** The storage class of the claim. Undefined: the VM uses the node's own disk. */
  readonly storageClass: string | undefined;
}

/** Parses `{size: MiB, storage_class: name}`; either key may be absent. */
export function parseEphemeralDisk(value: unknown, place: Location, defaults: EphemeralDisk): EphemeralDisk {
  const disk = recordAt(value, place);
  rejectUnknownKeys(disk, ['size', 'storage_class'], place);
  const size = disk['size'] ?? undefined;
  return {
    sizeMiB: size === undefined ? defaults.sizeMiB : positiveIntegerAt(size, child(place, 'size')),
    storageClass:
      optionalStringAt(disk['storage_class'], child(place, 'storage_class')) ?? defaults.storageClass,
  };
}

/** How a pod requests its address; the network of the cluster reads this. */
export const addressStrategies = ['calico', 'kube-ovn', 'static-ip'] as const;

export type AddressStrategy = (typeof addressStrategies)[number];
