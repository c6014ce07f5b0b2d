import { join, resolve } from 'node:path';
import { existsSync } from 'node:fs';
import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { ProductError } from '../../errors/product-error.ts';
import { ensurePrivateDirectory } from '../../platform/private-directory.ts';
import { desiredDisk } from '../disk/plan-disk.ts';
import { writeDurably } from '../durable-file.ts';
import { acquireLock } from '../lock.ts';
import type { EnvPorts } from '../options.ts';
import { waitForLeftoverProcess } from '../process/leftover-process.ts';
import { checkPaths } from '../session.ts';
import { vmMetadata } from '../vm/vm-specification.ts';
import {
  type ChosenResources,
  chooseResources,
  type FoundDisk,
  type FoundObjects,
  notRestored,
  type ResourceChoice,
} from './choose-resources.ts';
import { DeploymentFiles } from './deployment-files.ts';
import { newInstallationId } from './state-file.ts';
import { type DeploymentState, type DiskRecord, emptyState, formatState } from './deployment-state.ts';
import { pendingPathFor } from './pending-file.ts';
import { describeCluster, type ClusterIdentity, isSameCluster } from './recorded-cluster.ts';

export interface RestoreStateOptions extends ResourceChoice {
  readonly manifestPath: string;
  readonly manifest: Manifest;
  /** `--state`. */
  readonly statePath?: string | undefined;
  readonly workspace: string;
  readonly signal: AbortSignal;
  /** Reads the cluster of the deployment. Changes nothing. */
  readonly findObjects: () => Promise<FoundObjects & { readonly cluster: ClusterIdentity }>;
}

export interface RestoredState extends ChosenResources, Pick<FoundObjects, 'mayListSecrets'> {
  readonly statePath: string;
}

/**
 * Writes the lost state file of a deployment from what the cluster has. The file names VM, agent and
 * disk, so that the next create-env replaces this VM and keeps this disk. It names no stemcell, no
 * release and no manifest, which the cluster does not tell, so that the next create-env deploys once.
 * Throws STATE_NOT_RESTORED, and writes nothing, if a VM, a disk or a pending call is recorded, or if
 * the resources are not unique (see chooseResources), and OTHER_CLUSTER if the deployment was on another
 * cluster. Records the cluster first. If it is killed, either the whole state file exists or none.
 */
export async function restoreState(options: RestoreStateOptions, ports: EnvPorts): Promise<RestoredState> {
  const { manifest, workspace, signal } = options;
  const { clock, write, uuid } = ports;
  const manifestPath = resolve(options.manifestPath);
  const files = await DeploymentFiles.find(manifestPath, options.statePath);
  await checkPaths(manifestPath, files);
  const locks = join(await ensurePrivateDirectory(resolve(workspace), { mayBeLink: true }), 'locks');
  const lock = await acquireLock(files.statePath, { clock, locks });
  try {
    await waitForLeftoverProcess(lock.leftoverProcess, { clock, signal, write });
    const unused = await readUnusedState(files);
    const { cluster, ...found } = await options.findObjects();
    await assertSameCluster(files, cluster);
    const { director = '', deployment = '', instance_group = '' } = vmMetadata(manifest, 0);
    const needsDisk = (desiredDisk(manifest)?.size ?? 0) > 0;
    const chosen = chooseResources(found, { director, deployment, instance_group }, options, needsDisk);
    const { statePath } = files;
    const state = restoredState(chosen, { unused, manifest, uuid });
    // Without this record, a create-env with another kubeconfig would look for VM and disk in its cluster.
    await files.recordCluster({ installation_id: state.installation_id, ...cluster });
    await writeDurably(statePath, formatState(state));
    return { ...chosen, statePath, mayListSecrets: found.mayListSecrets };
  } finally {
    await lock.release();
  }
}

/**
 * Returns the state of a file that names no VM and no disk, as a create-env without the lost file leaves it.
 * Returns the empty state if there is no file. Throws if VM, disk or a pending call is recorded.
 */
async function readUnusedState(files: DeploymentFiles): Promise<DeploymentState> {
  const { statePath } = files;
  const state = (await files.readState()) ?? emptyState;
  if (state.current_vm_cid !== '' || state.disks.length > 0)
    throw notRestored(
      `'${statePath}' names a VM or a disk. If its content is wrong, move the file and run the command again`,
    );
  const pending = pendingPathFor(statePath);
  if (existsSync(pending))
    throw notRestored(
      `'${pending}' records a call of the CPI whose result is unknown, so the VM or disk that it names may exist beside those ` +
        "of the state file. 'bosh-kubernetes orphans' lists it. Delete what is left of it, move the file, and run the command again",
    );
  return state;
}

/** Throws if the record that is left beside the lost state file names another cluster. */
async function assertSameCluster(files: DeploymentFiles, cluster: ClusterIdentity): Promise<void> {
  const recorded = await files.readCluster();
  if (recorded === undefined) return;
  if (!isSameCluster(recorded, cluster))
    throw new ProductError(
      'OTHER_CLUSTER',
      `The deployment was on ${describeCluster(recorded)}, and this is ${describeCluster(cluster)}; no state file was written. ` +
        `Name the kubeconfig of that cluster with --kubeconfig; if that cluster no longer exists, remove '${files.clusterPath}'`,
    );
  if (recorded.being_destroyed === true)
    throw notRestored("a 'destroy' of the cluster was interrupted: run it again");
}

interface RestoreContext extends Pick<RestoreStateOptions, 'manifest'>, Pick<EnvPorts, 'uuid'> {
  /** A state that names no VM and no disk. */
  readonly unused: DeploymentState;
}

/** Returns the state of the found resources. What was deployed is not known. */
function restoredState(
  { vm, disk }: ChosenResources,
  { unused, manifest, uuid }: RestoreContext,
): DeploymentState {
  const disks = disk === undefined ? [] : [diskRecord(disk, manifest, uuid())];
  const directorId = vm?.directorId ?? disk?.directorId ?? unused.director_id;
  return {
    ...unused,
    director_id: directorId === '' ? uuid() : directorId,
    installation_id: unused.installation_id === '' ? newInstallationId(uuid) : unused.installation_id,
    current_vm_cid: vm?.cid ?? '',
    ...(vm?.agentId !== undefined && { current_agent_id: vm.agentId }),
    ...{ current_stemcell_id: '', current_manifest_sha: '', current_release_ids: [], releases: [] },
    current_disk_id: disks[0]?.id ?? '',
    disks,
  };
}

/**
 * The record gets the cloud_properties of the manifest. With others, the next create-env would move the data
 * to a new disk although nothing has changed.
 */
const diskRecord = ({ cid, size }: FoundDisk, manifest: Manifest, id: string): DiskRecord => ({
  ...{ id, cid, size },
  cloud_properties: desiredDisk(manifest)?.cloudProperties ?? {},
});
