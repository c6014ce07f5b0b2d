import type { Field } from '../../platform/field.ts';

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
export interface RecordedCluster extends ClusterIdentity {
  /**
   * The id of the state file that this record belongs to. If they differ, the bosh CLI has deleted the state
   * file without this record, and the record is stale.
   */
  readonly installation_id: string;
  /**
   * `destroy` has started to remove that cluster, the embedded one of `kubeconfig`. It may already be
   * deleted.
   */
  readonly being_destroyed?: true;
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

export const parseClusterIdentity = (cluster: Field): ClusterIdentity => ({
  server: cluster.get('server').nonEmptyString(),
  kubeconfig: cluster.get('kubeconfig').nonEmptyString(),
  ...optionalStrings(cluster, ['uid', 'ca_sha256']),
});

export function parseRecordedCluster(file: Field): RecordedCluster {
  const destroyed = file.get('being_destroyed').optional()?.boolean() === true;
  return {
    installation_id: file.get('installation_id').string(),
    ...parseClusterIdentity(file),
    ...(destroyed && { being_destroyed: true }),
  };
}

function optionalStrings<Key extends string>(field: Field, keys: readonly Key[]): { [K in Key]?: string } {
  const present = keys.filter((key) => field.get(key).isPresent);
  return Object.fromEntries(present.map((key) => [key, field.get(key).nonEmptyString()])) as {
    [K in Key]?: string;
  };
}
