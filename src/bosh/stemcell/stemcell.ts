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
 * The cloud_properties of a stemcell with our agent, which runs jobs without monit. A stemcell with
 * upstream's agent does not have this key.
 */
export const embeddedAgentProperties = { agent: 'bosh-kubernetes', agent_bus: 'nats' } as const;

/**
 * Returns true if the agent of a stemcell can speak to a director. Upstream's agent can; ours says so since it
 * can.
 */
export const speaksNats = (cloudProperties: Readonly<Record<string, unknown>>): boolean =>
  !hasEmbeddedAgent(cloudProperties) || cloudProperties['agent_bus'] === embeddedAgentProperties.agent_bus;

/** Returns true if a stemcell has our agent. */
export function hasEmbeddedAgent(cloudProperties: Readonly<Record<string, unknown>>): boolean {
  return cloudProperties['agent'] === embeddedAgentProperties.agent;
}
