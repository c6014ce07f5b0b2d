/**
 * What the cloud_properties of a stemcell say where its agent is ours, which runs jobs without monit; one
 * with upstream's agent has no such key.
 */
export const embeddedAgentProperties = { agent: 'bosh-kubernetes' } as const;

/** True where the agent of a stemcell is ours. */
export function hasEmbeddedAgent(cloudProperties: Readonly<Record<string, unknown>>): boolean {
  return cloudProperties['agent'] === embeddedAgentProperties.agent;
}
