/**
 * The cloud_properties of a stemcell with our agent, which runs jobs without monit. A stemcell with
 * upstream's agent does not have this key.
 */
export const embeddedAgentProperties = { agent: 'bosh-kubernetes' } as const;

/** Returns true if a stemcell has our agent. */
export function hasEmbeddedAgent(cloudProperties: Readonly<Record<string, unknown>>): boolean {
  return cloudProperties['agent'] === embeddedAgentProperties.agent;
}
