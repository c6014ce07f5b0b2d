import { type Deadlines, parseDeadlines } from './deadlines.ts';
import { type KubernetesConfig, parseKubernetes } from './cluster-access.ts';
import { quantityRange } from '../../kubernetes/types/quantity.ts';
import { mergeLayers } from './layers.ts';
import { type RegistryConfig, parseRegistry } from './registry.ts';
import type { Field } from '../../platform/field.ts';
import type { JsonObject } from '../../platform/json.ts';
import { type SecurityProfile, profiles } from './profile.ts';
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
export function parseConfig(file: unknown, request: JsonObject, contextName?: string): CpiConfig {
  const { config, kubeconfigContext } = mergeLayers({ file, request, contextName });
  const kubernetes = parseKubernetes(config.get('kubernetes'));
  return {
    kubernetes: kubeconfigContext === undefined ? kubernetes : inContext(kubernetes, kubeconfigContext),
    proxies: parseProxyVariables(config.get('env')),
    deadlines: parseDeadlines(config.get('deadlines')),
    networks: parseNetworksConfig(config.get('networks')),
    agent: parseAgent(config.get('agent')),
    defaults: parseDefaults(config.get('defaults')),
    registry: parseRegistry(config.get('registry')),
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
  readonly blobstore: JsonObject | undefined;
}

/** Parses the section `agent`. Throws INVALID_CONFIG. */
export function parseAgent(section: Field): AgentConfig {
  section.rejectUnknownKeys(['mbus', 'ntp', 'blobstore']);
  return {
    mbus: section.get('mbus').optional()?.nonEmptyString(),
    ntp: section.get('ntp').strings(),
    blobstore: section.get('blobstore').optional()?.record(),
  };
}

export interface NetworksConfig {
  /** Undefined: the strategy follows from the API groups of the cluster. */
  readonly addressStrategy: AddressStrategy | undefined;
  /** The cluster's network is known to enforce NetworkPolicies. */
  readonly networkPolicy: boolean;
}

/** Parses the section `networks`. Throws INVALID_CONFIG. */
export function parseNetworksConfig(section: Field): NetworksConfig {
  section.rejectUnknownKeys(['address_strategy', 'network_policy']);
  const strategy = section
    .get('address_strategy')
    .optional()
    ?.oneOf(['auto', ...addressStrategies]);
  return {
    addressStrategy: strategy === 'auto' ? undefined : strategy,
    networkPolicy: section.get('network_policy').optional()?.boolean() ?? false,
  };
}

/** The variables that a director removes from the environment of a CPI. The names are those of other CPIs. */
const variableNames = ['http_proxy', 'https_proxy', 'no_proxy'] as const;

/** Proxy variables as a process has them, in both spellings. Secret: a URL may contain a password. */
export type ProxyVariables = Readonly<Record<string, string>>;

/**
 * Parses the section `env`. https_proxy and no_proxy apply to the API server; exec plugins get all variables
 * of the section. They override the variables of this process. Throws INVALID_CONFIG.
 */
export function parseProxyVariables(section: Field): ProxyVariables {
  section.rejectUnknownKeys(variableNames);
  const given: Record<string, string> = {};
  for (const name of variableNames) {
    const text = section.get(name).optional()?.nonEmptyString();
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
export function parseDefaults(section: Field): Defaults {
  section.rejectUnknownKeys(['resources', 'ephemeral_disk', 'profile']);
  const resources = parseResources(section.get('resources'));
  return {
    // a VM without requests would be the first that a node under pressure evicts
    resources: withDefaults(resources, { requests: { cpu: '100m', memory: '128Mi' }, limits: {} }),
    ephemeralDisk: parseEphemeralDisk(section.get('ephemeral_disk'), {
      sizeMiB: 1024,
      storageClass: undefined,
    }),
    profile: section.get('profile').optional()?.oneOf(profiles) ?? 'privileged',
  };
}

export interface EphemeralDisk {
  readonly sizeMiB: number;
  /** The storage class of the claim. Undefined: the VM uses the node's own disk. */
  readonly storageClass: string | undefined;
}

/** Parses `{size: MiB, storage_class: name}`; either key may be absent. */
export function parseEphemeralDisk(disk: Field, defaults: EphemeralDisk): EphemeralDisk {
  disk.rejectUnknownKeys(['size', 'storage_class']);
  return {
    sizeMiB: disk.get('size').optional()?.integer(quantityRange) ?? defaults.sizeMiB,
    storageClass: disk.get('storage_class').optional()?.nonEmptyString() ?? defaults.storageClass,
  };
}

/** How a pod requests its address; the network of the cluster reads this. */
export const addressStrategies = ['calico', 'kube-ovn', 'static-ip'] as const;

export type AddressStrategy = (typeof addressStrategies)[number];
