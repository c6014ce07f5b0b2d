/** An opened stemcell. */
export interface Stemcell {
  readonly name: string;
  readonly version: string;
  /** 1 if the manifest has none. */
  readonly apiVersion: number;
  /** Empty if the manifest has none. */
  readonly formats: readonly string[];
  readonly operatingSystem?: string;
  /** The second argument of create_stemcell. */
  readonly cloudProperties: Readonly<Record<string, unknown>>;
  /** The first argument of create_stemcell. stemcell.MF is in the same directory. */
  readonly imagePath: string;
}

/**
 * The cloud_properties of a stemcell that say which agent it has and which bus the agent speaks beside HTTPS.
 * A stemcell with upstream's agent has neither. Our agent did not speak NATS in earlier versions, whose
 * stemcells have only `agent`.
 */
export interface AgentProperties {
  readonly agent?: string;
  readonly agent_bus?: string;
}

/** The properties of a stemcell with our present agent, which runs jobs without monit. */
export const embeddedAgentProperties = {
  agent: 'bosh-kubernetes',
  agent_bus: 'nats',
} as const satisfies AgentProperties;

/**
 * Returns true if the agent of a stemcell speaks NATS, as the agents of a director's VMs must. Every upstream
 * agent speaks NATS. Ours does if its stemcell has `agent_bus: nats`.
 */
export const speaksNats = (cloudProperties: Readonly<Record<string, unknown>>): boolean =>
  !hasEmbeddedAgent(cloudProperties) || cloudProperties['agent_bus'] === embeddedAgentProperties.agent_bus;

/** Returns true if a stemcell has our agent. */
export function hasEmbeddedAgent(cloudProperties: Readonly<Record<string, unknown>>): boolean {
  return cloudProperties['agent'] === embeddedAgentProperties.agent;
}
