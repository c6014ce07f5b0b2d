import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { isProductError } from '../../errors/product-error.ts';
import { isCpiError } from '../cpi/cpi-response.ts';
import { errorChain, withContext } from '../error-chain.ts';
import type { Run } from '../run.ts';
import type { PendingVm } from '../state/pending-file.ts';
import type { VmSpecification } from './vm-specification.ts';
import { vmSpecification } from './vm-specification.ts';

/**
 * Deletes a VM that an interrupted run may have left, unless it is the recorded VM. It stays pending until it
 * is deleted, so that the next run continues if this one is killed.
 */
export async function deletePendingVm(run: Run, specification: VmSpecification): Promise<void> {
  const left = run.pending.pending.vm;
  if (left === undefined) return;
  await deleteFound(run, left.cid ?? (await findVm(run, left, specification)));
}

/**
 * Calls deletePendingVm for a run that can continue without the deletion. A VM that cannot be found again
 * stays pending, and a warning is printed. `next` is the advice at the end of the warning.
 */
export async function deletePendingVmOrWarn(run: Run, manifest: Manifest, next = ''): Promise<void> {
  const left = run.pending.pending.vm;
  if (left === undefined) return;
  if (left.cid !== undefined) return deleteFound(run, left.cid);
  const { stemcells, disks } = run.state.state;
  const stemcell = stemcells.at(-1);
  const warning = `A VM of agent '${left.agent_id}' may be left over`;
  if (stemcell === undefined)
    return run.warn(`${warning}: no stemcell is recorded to ask for it with${next}`);
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
    await withContext(`Deleting VM '${cid}' that an interrupted run left`, () =>
      unlessGone(run.cloud.deleteVm(cid)),
    );
  await run.pending.setVm(undefined);
}

/**
 * Returns the cid, which only the CPI knows, by calling create_vm again: it is idempotent for an agent id and
 * returns the existing VM.
 */
async function findVm(run: Run, left: PendingVm, specification: VmSpecification): Promise<string> {
  const { stemcellId: _, ...vm } = specification;
  const cid = await withContext(
    `Finding the VM of agent '${left.agent_id}' that an interrupted run left`,
    () => run.cloud.createVm({ agentId: left.agent_id, ...vm }),
  );
  await run.pending.setVm({ ...left, cid });
  return cid;
}

async function unlessGone(deletion: Promise<void>): Promise<void> {
  await deletion.catch((error: unknown) => {
    if (!isProductError(error, 'VM_NOT_FOUND')) throw error;
  });
}
