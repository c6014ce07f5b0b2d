import { ProductError } from '../../errors/product-error.ts';
import { removeDurably, writeDurably } from '../durable-file.ts';
import { readBesideState } from './read-beside-state.ts';

/** What tells a cluster from every other one. */
export interface ClusterIdentity {
  /** The uid of the namespace kube-system; absent where the role may not read it. */
  readonly uid?: string;
  /** URL of the API. */
  readonly server: string;
  /** Hex, of the certificates that the API is checked against; absent: the system's own roots. */
  readonly ca_sha256?: string;
  /** The kubeconfig that names it; for operators only, two may name the same cluster. */
  readonly kubeconfig: string;
}

/** The cluster on which a deployment's VM and disks are. */
export interface ClusterNote extends ClusterIdentity {
  /** Of the state file: the bosh CLI removes that file and leaves this one, which is about nothing then. */
  readonly installation_id: string;
  /** `destroy` has begun with that cluster, the embedded one beside `kubeconfig`: perhaps it is gone by now. */
  readonly being_destroyed?: true;
}

export function clusterNotePathFor(statePath: string): string {
  return `${statePath}.cluster`;
}

/** Undefined when there is none: a deployment of the bosh CLI, or of an earlier version. */
export function readClusterNote(statePath: string): Promise<ClusterNote | undefined> {
  const path = clusterNotePathFor(statePath);
  return readBesideState(path, isClusterNote, (cause) => invalid(path, cause));
}

/** Writes the note where it would say something new. */
export async function writeClusterNote(statePath: string, note: ClusterNote): Promise<void> {
  const text = `${JSON.stringify(note, null, 2)}\n`;
  const former = await readClusterNote(statePath);
  if (former !== undefined && `${JSON.stringify(former, null, 2)}\n` === text) return;
  await writeDurably(clusterNotePathFor(statePath), text);
}

export async function removeClusterNote(statePath: string): Promise<void> {
  await removeDurably(clusterNotePathFor(statePath));
}

/** By uid; where one of both has none, by the API's address and authority (docs/decisions/0020). */
export function isSameCluster(one: ClusterIdentity, other: ClusterIdentity): boolean {
  if (one.uid !== undefined && other.uid !== undefined) return one.uid === other.uid;
  return one.server === other.server && one.ca_sha256 === other.ca_sha256;
}

/** As an error names it. */
export function describeCluster({ server, uid, kubeconfig }: ClusterIdentity): string {
  return `${server} (${uid === undefined ? '' : `kube-system ${uid}, `}kubeconfig '${kubeconfig}')`;
}

function invalid(path: string, cause?: unknown): ProductError {
  return new ProductError(
    'STATE_INVALID',
    `File '${path}', which names the cluster of the deployment, is not what the deployer wrote; remove it if you know that the cluster is the right one`,
    { cause },
  );
}

function isClusterNote(value: unknown): value is ClusterNote {
  if (typeof value !== 'object' || value === null) return false;
  const {
    uid,
    server,
    ca_sha256: authority,
    kubeconfig,
    installation_id: id,
    being_destroyed: destroyed,
  } = value as Partial<ClusterNote>;
  const optional = [uid, authority].every((text) => text === undefined || typeof text === 'string');
  return (
    optional &&
    [undefined, true].includes(destroyed) &&
    [server, kubeconfig, id].every((text) => typeof text === 'string')
  );
}
