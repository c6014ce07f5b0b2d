import { isDnsLabel } from '../../kubernetes/names.ts';

/** Networks of create_network say in their cid what they are. */
export const policyPrefix = 'net-policy-';
export const attachmentPrefix = 'net-attachment-';

/** True for a text that can be the cid of a network that create_network made. */
export const isNetworkCid = (text: string): boolean =>
  isDnsLabel(text) && (text.startsWith(policyPrefix) || text.startsWith(attachmentPrefix));

/** The label of the pods in a network of ours: what its policy selects, and who is asked before it goes. */
export const membershipLabel = (cid: string): string => `bosh.cloudfoundry.org/${cid}`;
