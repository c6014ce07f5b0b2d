import { isDnsLabel } from '../../kubernetes/names.ts';

/** The prefix of the cid of a network of create_network shows its kind. */
export const policyPrefix = 'net-policy-';
export const attachmentPrefix = 'net-attachment-';

/** True for a text that can be the cid of a network that create_network made. */
export const isNetworkCid = (text: string): boolean =>
  isDnsLabel(text) && (text.startsWith(policyPrefix) || text.startsWith(attachmentPrefix));

/**
 * Returns the label of the pods in a network that the CPI manages: its policy selects by it, and
 * delete_network finds the VMs in the network by it.
 */
export const membershipLabel = (cid: string): string => `bosh.cloudfoundry.org/${cid}`;
