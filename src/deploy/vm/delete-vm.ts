import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { isProductError } from '../../errors/product-error.ts';
import { errorChain, withContext } from '../../platform/error-chain.ts';
import { isCpiError } from '../cpi/cpi-runner.ts';
import { shutDownInstance } from '../instance/shut-down-instance.ts';
import type { Run } from '../session.ts';
import type { Stage } from '../stage/stage.ts';
import type { PendingVm } from '../state/pending-file.ts';
import { forgetVm } from '../state/state-changes.ts';
import { vmSpecification, type VmSpecification } from './vm-specification.ts';

/**
 * Deletes the recorded VM, if there is one. Stops its jobs through the agent first. delete_vm is called even
 * if the VM no longer exists in the cloud, so that the CPI can clean up what belonged to it (bosh-cli
 * deployment/instance/instance.go).
 */
export async function deleteCurrentVm(
  run: Run,
  stage: Stage,
  options: { readonly instance: string; readonly skipDrain: boolean },
): Promise<void> {
  const vmCid = run.state.state.current_vm_cid;
  if (vmCid === '') return;
  if (await hasRecordedVm(run)) await shutDownInstance(run, stage, { ...options, vmCid });
  await stage.perform(`Deleting VM '${vmCid}'`, async (step) => {
    await withContext('Deleting vm in the cloud', () =>
      deleteIfPresent(run, vmCid, () => step.skip('VM not found')),
    );
    await run.state.change(forgetVm);
  });
}

/**
 * Returns true if the recorded VM exists in the cloud, false if none is recorded. Rejects if the CPI cannot
 * tell.
 */
export async function hasRecordedVm({ cloud, state }: Pick<Run, 'cloud' | 'state'>): Promise<boolean> {
  const { current_vm_cid: cid } = state.state;
  return cid !== '' && (await withContext(`Checking existence of VM '${cid}'`, () => cloud.hasVm(cid)));
}

/**
 * Deletes a VM that an interrupted run may have left, unless it is the recorded VM. It stays pending until it
 * is deleted, so that the next run continues if this one is killed.
 */
export async function deletePendingVm(run: Run, specification: VmSpecification): Promise<void> {
  const leftover = run.pending.pending.vm;
  if (leftover === undefined) return;
  await deleteFound(run, leftover.cid ?? (await findVm(run, leftover, specification)));
}

/**
 * Calls deletePendingVm for a run that can continue without the deletion. A VM that cannot be found again
 * stays pending, and a warning is printed. `next` is the advice at the end of the warning.
 */
export async function deletePendingVmOrWarn(run: Run, manifest: Manifest, next = ''): Promise<void> {
  const leftover = run.pending.pending.vm;
  if (leftover === undefined) return;
  if (leftover.cid !== undefined) return deleteFound(run, leftover.cid);
  const { stemcells, disks } = run.state.state;
  const stemcell = stemcells.at(-1);
  const warning = `A VM of agent '${leftover.agent_id}' may be left over`;
  if (stemcell === undefined)
    return run.warn(`${warning}: no stemcell is recorded to request it with${next}`);
  const diskCids = disks.map(({ cid }) => cid);
  try {
    await deletePendingVm(run, vmSpecification(manifest, stemcell, diskCids));
  } catch (error) {
    if (!isCpiError(error) || run.pending.pending.vm?.cid !== undefined) throw error;
    run.warn(`${warning}: ${errorChain(error).join(': ')}${next}`);
  }
}

async function deleteFound(run: Run, cid: string): Promise<void> {
  if (cid !== run.state.state.current_vm_cid)
    await withContext(`Deleting VM '${cid}' that an interrupted run left`, () => deleteIfPresent(run, cid));
  await run.pending.setVm(undefined);
}

/**
 * Returns the cid, which only the CPI knows, by calling create_vm again: it is idempotent for an agent id and
 * returns the existing VM.
 */
async function findVm(run: Run, leftover: PendingVm, specification: VmSpecification): Promise<string> {
  const { stemcellId: _, ...vm } = specification;
  const cid = await withContext(
    `Finding the VM of agent '${leftover.agent_id}' that an interrupted run left`,
    () => run.cloud.createVm({ agentId: leftover.agent_id, ...vm }),
  );
  await run.pending.setVm({ ...leftover, cid });
  return cid;
}

async function deleteIfPresent({ cloud }: Run, cid: string, onMissing?: () => void): Promise<void> {
  await cloud.deleteVm(cid).catch((error: unknown) => {
    if (!isProductError(error, 'VM_NOT_FOUND')) throw error;
    onMissing?.();
  });
}
