import { ProductError } from '../../errors/product-error.ts';
import { removeDurably, writeDurably } from '../durable-file.ts';
import { readBesideState } from './read-beside-state.ts';

/** Identifies a cluster. */
export interface ClusterIdentity {
  /** The uid of the namespace kube-system. Absent if the role may not read it. */
  readonly uid?: string;
  /** URL of the API server. */
  readonly server: string;
  /**
   * SHA-256, in hex, of the certificates that the API server is verified against. Absent if these are the
   * system's own roots.
   */
  readonly ca_sha256?: string;
  /** The kubeconfig for this cluster. Only for messages: two kubeconfigs may name the same cluster. */
  readonly kubeconfig: string;
}

/** The cluster that a deployment's VM and disks are on. */
export interface ClusterNote extends ClusterIdentity {
  /**
   * The id of the state file that this note belongs to. If they differ, the bosh CLI has deleted the state
   * file without this note, and the note is stale.
   */
  readonly installation_id: string;
  /**
   * `destroy` has started to remove that cluster, the embedded one of `kubeconfig`. It may already be
   * deleted.
   */
  readonly being_destroyed?: true;
}

export function clusterNotePathFor(statePath: string): string {
  return `${statePath}.cluster`;
}

/** Returns undefined if there is no note, as for a deployment of the bosh CLI or of an earlier version. */
export function readClusterNote(statePath: string): Promise<ClusterNote | undefined> {
  const path = clusterNotePathFor(statePath);
  return readBesideState(path, isClusterNote, (cause) => invalid(path, cause));
}

/** Writes the note if it differs from the existing one. */
export async function writeClusterNote(statePath: string, note: ClusterNote): Promise<void> {
  const text = `${JSON.stringify(note, null, 2)}\n`;
  const former = await readClusterNote(statePath);
  if (former !== undefined && `${JSON.stringify(former, null, 2)}\n` === text) return;
  await writeDurably(clusterNotePathFor(statePath), text);
}

export async function removeClusterNote(statePath: string): Promise<void> {
  await removeDurably(clusterNotePathFor(statePath));
}

/**
 * Compares the uids. If one of them is missing, compares address and CA of the API server
 * (docs/decisions/0020).
 */
export function isSameCluster(one: ClusterIdentity, other: ClusterIdentity): boolean {
  if (one.uid !== undefined && other.uid !== undefined) return one.uid === other.uid;
  return one.server === other.server && one.ca_sha256 === other.ca_sha256;
}

/** Describes the cluster for error messages. */
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
