import { isProductError } from '../errors/product-error.ts';
import { removeTree } from '../platform/remove-tree.ts';
import { assertDeploymentIsHere } from './check-presence.ts';
import { deleteUnusedDisks } from './disk/deploy-disk.ts';
import { withContext } from './error-chain.ts';
import type { EnvOptions, EnvPorts } from './options.ts';
import type { Run } from './run.ts';
import { withSession, type Session } from './session.ts';
import type { Stage, Step } from './stage/stage.ts';
import { removeClusterNote } from './state/cluster-note.ts';
import { cpiConfigChanged, removeCpiNote } from './state/cpi-note.ts';
import { removeDigestNote } from './state/digest-note.ts';
import type { DiskRecord } from './state/deployment-state.ts';
import type { PendingDisk } from './state/pending-file.ts';
import { currentDisk, currentStemcell, forgetDisk } from './state/state-changes.ts';
import { deleteStemcell, deleteUnusedStemcells } from './stemcell/upload-stemcell.ts';
import { validateInstallation, type ValidInstallation } from './validate/validate-deployment.ts';
import { deletePendingVmOrWarn } from './vm/delete-pending-vm.ts';
import { deleteCurrentVm } from './vm/delete-vm.ts';
import { withCpi } from './with-cpi.ts';

export interface DeleteEnvOptions extends EnvOptions {
  /** Delete what is left also when the cloud has nothing of VM and disks. */
  readonly force?: boolean;
}

export interface DeleteEnvResult {
  /** False when there was no state file: nothing was deployed, nothing was done. */
  readonly deleted: boolean;
  /** The agent id of a VM that an interrupted run asked for, and that the CPI could not find again: it may exist. */
  readonly unconfirmedVm: string | undefined;
  /** Disks that an interrupted run asked for and never heard of: the cloud may hold them, unclaimed. */
  readonly unconfirmedDisks: readonly PendingDisk[];
}

/**
 * Deletes VM, disks, stemcells, the local CPI installation and last the state file (bosh-cli cmd/deployment_deleter.go).
 * What the cloud no longer has is skipped (OTHER_CLUSTER when that is VM and disks, see assertDeploymentIsHere); interrupted or killed
 * anywhere, the next run goes on.
 */
export async function deleteEnv(options: DeleteEnvOptions, ports: EnvPorts): Promise<DeleteEnvResult> {
  const ignoreMissing = options.force === true;
  const result = await withSession(options, ports, (session) => removeAll(session, ignoreMissing), {
    existing: true,
  });
  return result ?? { deleted: false, unconfirmedVm: undefined, unconfirmedDisks: [] };
}

async function removeAll(session: Session, forgetAbsent: boolean): Promise<DeleteEnvResult> {
  const { stage, state, pending, directory } = session;
  const valid = await validateInstallation(stage, session);
  const stemcellApiVersion = currentStemcell(state.state)?.api_version ?? 1;
  return withCpi(session, { valid, stemcellApiVersion }, async (run) => {
    // Without a VM it may be a run that was killed after it had deleted the disk.
    if (!forgetAbsent && state.state.current_vm_cid !== '')
      await assertDeploymentIsHere(run, () =>
        cpiConfigChanged(state, valid.manifest.cloudProvider.properties),
      );
    await withContext('Deleting deployment', () =>
      stage.performComplex('deleting deployment', (group) => deleteDeployment(session, valid, run, group)),
    );
    await deleteUnusedDisks(run, stage);
    await deleteUnusedStemcells(run, stage);
    const { vm, disks: unconfirmedDisks } = pending.pending;
    await stage.perform('Uninstalling local artifacts for CPI and deployment', async () => {
      await removeTree(directory.root, { within: directory.installations });
      await pending.remove();
      await state.remove();
      await removeClusterNote(state.path);
      await removeCpiNote(state.path);
      await removeDigestNote(state.path);
    });
    return { deleted: true, unconfirmedVm: vm?.agent_id, unconfirmedDisks };
  });
}

/** The instance's group may have another name by now, so bosh shows none. */
async function deleteDeployment(
  session: Session,
  valid: ValidInstallation,
  run: Run,
  stage: Stage,
): Promise<void> {
  const { state, options } = session;
  // Deleting the VM forgets which stemcell and disk it had.
  const stemcell = currentStemcell(state.state);
  const disk = currentDisk(state.state);
  await deleteCurrentVm(run, stage, { instance: 'unknown/0', skipDrain: options.skipDrain === true });
  // after the recorded one, which may have the address with which it is asked for
  await deletePendingVmOrWarn(run, valid.manifest);
  if (disk !== undefined)
    await stage.perform(`Deleting disk '${disk.cid}'`, (step) => deleteDisk(run, disk, step));
  if (stemcell === undefined) return;
  await stage.perform(`Deleting stemcell '${stemcell.cid}'`, (step) => deleteStemcell(run, stemcell, step));
}

async function deleteDisk({ cloud, state }: Run, disk: DiskRecord, step: Step): Promise<void> {
  await cloud.deleteDisk(disk.cid).catch((error: unknown) => {
    if (!isProductError(error, 'DISK_NOT_FOUND')) throw error;
    step.skip('Disk not found');
  });
  await state.change(forgetDisk(disk.id));
}
