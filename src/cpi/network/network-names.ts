/** Networks of create_network say in their cid what they are. */
export const policyPrefix = 'net-policy-';
export const attachmentPrefix = 'net-attachment-';

/** The label of the pods that a policy is for. */
export const policyLabel = (policy: string): string => `bosh.cloudfoundry.org/${policy}`;
