import { type CallContext } from '../call.ts';
import { type ObjectReference } from '../../kubernetes/api.ts';
import { pods, secrets } from '../../kubernetes/resources.ts';
import { isDnsLabel, isLabelValue } from '../../kubernetes/names.ts';

const hashLength = 20;
/**
 * A text that already looks hashed is hashed again. Otherwise it could collide with the hash of another text.
 */
const isHashed = new RegExp(`-x[0-9a-f]{${hashLength}}$`, 'u');

const inNames = { disallowedCharacters: /[^a-z0-9]+/gu, isLowerCase: true };

/**
 * Returns the cid of the VM with that agent id: `vm-<agent id>` if this is a DNS label, else a readable part
 * and a hash. The same id gives the same cid, different ids give different ones.
 */
export function vmCid(agentId: string): string {
  const plain = `vm-${agentId}`;
  return isDnsLabel(plain) && !isHashed.test(plain)
    ? plain
    : `vm-${appendHash(agentId, { length: 60, ...inNames })}`;
}

/**
 * Returns true for a text that can be a VM's cid. No request to Kubernetes is needed for any other text: it
 * names no VM.
 */
export function isVmCid(text: unknown): text is string {
  return typeof text === 'string' && text.startsWith('vm-') && isDnsLabel(text);
}

/**
 * Returns true for a text that can be a disk's cid. Leaves room for the longer name of the disk's attachment
 * pod.
 */
export function isDiskCid(text: unknown): text is string {
  return typeof text === 'string' && text.startsWith('disk-') && text.length <= 56 && isDnsLabel(text);
}

/** Returns true for a text that can be a snapshot's cid. */
export function isSnapshotCid(text: unknown): text is string {
  return typeof text === 'string' && text.startsWith('snap-') && isDnsLabel(text);
}

/** Returns the name of the PodDisruptionBudget of a group, given the group's label value. */
export function budgetName(group: string): string {
  const plain = `group-${group}`;
  return isDnsLabel(plain) && !isHashed.test(plain)
    ? plain
    : `group-${appendHash(group, { length: 57, ...inNames })}`;
}

export const attachmentPodName = (diskCid: string): string => `attach-${diskCid}`;

/**
 * Returns a label value for any text: the text itself if it is a valid one, else a readable part and a hash
 * of the whole.
 */
export function labelValue(text: string): string {
  return isLabelValue(text) && !isHashed.test(text)
    ? text
    : appendHash(text, { length: 63, disallowedCharacters: /[^A-Za-z0-9_.]+/gu, isLowerCase: false });
}

interface Readable {
  readonly length: number;
  /** Matches the characters that a hyphen replaces. */
  readonly disallowedCharacters: RegExp;
  /** True for the names of objects, which have no capital letters. */
  readonly isLowerCase: boolean;
}

function appendHash(text: string, { length, disallowedCharacters, isLowerCase }: Readable): string {
  const hash = sha256(text).slice(0, hashLength);
  const readable = (isLowerCase ? text.toLowerCase() : text)
    .replace(disallowedCharacters, '-')
    .slice(0, length - hashLength - 2)
    .replace(/^[^A-Za-z0-9]+/u, '');
  return `${readable === '' ? 'x' : readable}-x${hash}`;
}

/**
 * Returns the SHA-256 digest of a text in hex. node:crypto is loaded on demand: loading it takes more than a
 * millisecond, and most calls do not need it.
 */
export const sha256 = (text: string): string =>
  process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('hex');

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

export const podReference = (call: CallContext, name: string): ObjectReference => ({
  resource: pods,
  namespace: call.namespace,
  name,
});

export const secretReference = (call: CallContext, name: string): ObjectReference => ({
  resource: secrets,
  namespace: call.namespace,
  name,
});
