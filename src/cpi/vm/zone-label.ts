/** The node label of a zone (kubernetes: well-known labels), what the cloud property `zone` is about. */
export const zoneLabel = 'topology.kubernetes.io/zone';
