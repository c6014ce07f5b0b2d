import { isProductError } from '../errors/product-error.ts';
import { withContext } from '../platform/error-chain.ts';
import { removeTree } from '../platform/remove-tree.ts';
import { assertDeploymentIsHere } from './check-presence.ts';
import { deleteUnusedDisks } from './disk/deploy-disk.ts';
import type { EnvOptions, EnvPorts } from './options.ts';
import { type Run, withSession, type Session } from './session.ts';
import type { Stage, Step } from './stage/stage.ts';
import type { DiskRecord } from './state/deployment-state.ts';
import type { PendingDisk } from './state/pending-file.ts';
import { currentDisk, currentStemcell, forgetDisk } from './state/state-changes.ts';
import { deleteStemcell, deleteUnusedStemcells } from './stemcell/upload-stemcell.ts';
import { validateInstallation, type ValidInstallation } from './validate/validate-deployment.ts';
import { deletePendingVmOrWarn, deleteCurrentVm } from './vm/delete-vm.ts';
import { withCpi } from './with-cpi.ts';

export interface DeleteEnvOptions extends EnvOptions {
  /** Delete what remains even if neither the VM nor any disk exists in the cloud. */
  readonly force?: boolean;
}

export interface DeleteEnvResult {
  /** False if there was no state file, so that nothing was deployed and nothing was done. */
  readonly deleted: boolean;
  /**
   * The agent id of a VM that an interrupted run requested and that the CPI could not find again. The VM may
   * exist.
   */
  readonly unconfirmedVm: string | undefined;
  /**
   * Disks that an interrupted run requested without receiving a response. They may exist in the cloud,
   * unclaimed.
   */
  readonly unconfirmedDisks: readonly PendingDisk[];
}

/**
 * Deletes VM, disks, stemcells and the local CPI installation, and then the state file (bosh-cli
 * cmd/deployment_deleter.go). Resources that no longer exist in the cloud are skipped; if VM and disks are
 * all missing, OTHER_CLUSTER is thrown (see assertDeploymentIsHere). If a run is interrupted or killed at any
 * point, the next run continues.
 */
export async function deleteEnv(options: DeleteEnvOptions, ports: EnvPorts): Promise<DeleteEnvResult> {
  const ignoreMissing = options.force === true;
  const result = await withSession(options, ports, (session) => removeAll(session, ignoreMissing), {
    existing: true,
  });
  return result ?? { deleted: false, unconfirmedVm: undefined, unconfirmedDisks: [] };
}

async function removeAll(session: Session, ignoreMissing: boolean): Promise<DeleteEnvResult> {
  const { stage, files, state, pending, directory } = session;
  const valid = await validateInstallation(stage, session);
  const stemcellApiVersion = currentStemcell(state.state)?.api_version ?? 1;
  return withCpi(session, { valid, stemcellApiVersion }, async (run) => {
    // If no VM is recorded, a previous run may have been killed after it had deleted the disk.
    if (!ignoreMissing && state.state.current_vm_cid !== '')
      await assertDeploymentIsHere(run, () =>
        files.cpiConfigChanged(state.state, valid.manifest.cloudProvider.properties),
      );
    await withContext('Deleting deployment', () =>
      stage.performComplex('deleting deployment', (group) => deleteDeployment(session, valid, run, group)),
    );
    await deleteUnusedDisks(run, stage);
    await deleteUnusedStemcells(run, stage);
    const { vm, disks: unconfirmedDisks } = pending.pending;
    await stage.perform('Uninstalling local artifacts for CPI and deployment', async () => {
      await removeTree(directory.root, { within: directory.installations });
      await files.removeAll();
    });
    return { deleted: true, unconfirmedVm: vm?.agent_id, unconfirmedDisks };
  });
}

/** Shows no instance group, as in bosh: its name may have changed since the deploy. */
async function deleteDeployment(
  session: Session,
  valid: ValidInstallation,
  run: Run,
  stage: Stage,
): Promise<void> {
  const { state, options } = session;
  // Deleting the VM clears the record of its stemcell and disk.
  const stemcell = currentStemcell(state.state);
  const disk = currentDisk(state.state);
  await deleteCurrentVm(run, stage, { instance: 'unknown/0', skipDrain: options.skipDrain === true });
  // The pending VM comes after the recorded VM, which may have the address that create_vm needs to find the
  // pending one.
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
