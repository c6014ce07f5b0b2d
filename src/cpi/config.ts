import type { AgentConfig } from './config/agent.ts';
import { parseAgent } from './config/agent.ts';
import type { Deadlines } from './config/deadlines.ts';
import { parseDeadlines } from './config/deadlines.ts';
import type { Defaults } from './config/defaults.ts';
import { parseDefaults } from './config/defaults.ts';
import type { KubernetesConfig } from './config/kubernetes.ts';
import { parseKubernetes } from './config/kubernetes.ts';
import { mergeLayers } from './config/layers.ts';
import type { ProxyVariables } from './config/proxies.ts';
import { parseProxyVariables } from './config/proxies.ts';
import type { NetworksConfig } from './config/networks.ts';
import { parseNetworksConfig } from './config/networks.ts';
import type { RegistryConfig } from './config/registry.ts';
import { parseRegistry } from './config/registry.ts';
import type { Json, Location } from './input.ts';
import { child } from './input.ts';

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
