import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { journalPath } from '../../../embedded-cluster/index.ts';
import type { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { ProductError } from '../../errors/product-error.ts';
import { readCid } from '../../inventory/recorded-use.ts';
import { kubeconfigPath } from './kubeconfig.ts';
import { type ClusterResource, describeResource, readClusterContents } from './read-cluster-contents.ts';

/** The VMs, disks and snapshots that `destroy` removes with the embedded cluster. */
export interface DestroyPlan {
  readonly clusterDirectory: string;
  /** Those of the manifest's deployment. */
  readonly own: readonly ClusterResource[];
  readonly others: readonly ClusterResource[];
  /** The reason why the cluster may have more than these. */
  readonly problem: string | undefined;
}

/**
 * Reads the VMs, disks and snapshots of the embedded cluster, which may be stopped or not exist. `own` are
 * those that the state file names and those with its director_id.
 */
export async function planDestroy(files: DeploymentFiles, clusterDirectory: string): Promise<DestroyPlan> {
  const { resources, problem } = await readClusterContents(clusterDirectory);
  const [state, known, recorded] = await Promise.all([
    files.readState(),
    files.readKnownResources(),
    files.readCluster(),
  ]);
  // An interrupted `destroy`, which was allowed to remove the cluster, has left only a part of it. A damaged
  // journal is not its work, and may be that of the next cluster in this directory.
  const isResumed =
    recorded?.being_destroyed === true &&
    recorded.kubeconfig === resolve(kubeconfigPath(clusterDirectory)) &&
    !existsSync(journalPath(clusterDirectory));
  const pending = known?.pendingAgentId === undefined ? undefined : `vm-${known.pendingAgentId}`;
  const cids = [known?.vmCid, pending, ...(known?.diskCids ?? [])].flatMap((cid) =>
    cid === undefined ? [] : readCid(cid).name,
  );
  const isOwn = ({ cid, directorId }: ClusterResource): boolean =>
    cids.includes(cid) || (directorId !== undefined && directorId === state?.director_id);
  return {
    clusterDirectory,
    problem: isResumed ? undefined : problem,
    own: resources.filter(isOwn),
    others: resources.filter((resource) => !isOwn(resource)),
  };
}

const mostNamed = 10;

/**
 * Throws DESTROY_REFUSED if the cluster has, or may have, VMs or disks that are neither of the manifest's
 * deployment nor in `agreed`, which the operator has seen and agreed to remove.
 */
export function assertRemovesNothingElse(
  { clusterDirectory, others, problem }: DestroyPlan,
  { agreed, manifestPath }: { readonly agreed: readonly ClusterResource[]; readonly manifestPath: string },
): void {
  if (problem !== undefined)
    throw new ProductError(
      'DESTROY_REFUSED',
      `It is not known whether the cluster in '${clusterDirectory}' has VMs and disks of other deployments: ${problem}. ` +
        "Nothing was removed. 'destroy' with --all removes the cluster with all that it has",
    );
  const cids = new Set(agreed.map(({ cid }) => cid));
  const left = others.filter(({ cid }) => !cids.has(cid));
  if (left.length === 0) return;
  const named = left.slice(0, mostNamed).map(describeResource);
  const more = left.length > mostNamed ? [`${left.length - mostNamed} more`] : [];
  throw new ProductError(
    'DESTROY_REFUSED',
    `The cluster in '${clusterDirectory}' has ${[...named, ...more].join(', ')}, which do not belong to the deployment of ` +
      `'${manifestPath}'. ` +
      "Nothing was removed. 'delete-env' with the manifest of each of those deployments deletes them; 'destroy' with --all " +
      'removes them with the cluster',
  );
}
