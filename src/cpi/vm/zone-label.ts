/** The node label of a zone (kubernetes: well-known labels), which the cloud property `zone` sets. */
export const zoneLabel = 'topology.kubernetes.io/zone';
