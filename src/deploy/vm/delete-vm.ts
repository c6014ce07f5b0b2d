import { isProductError } from '../../errors/product-error.ts';
import { withContext } from '../error-chain.ts';
import { shutDownInstance } from '../instance/shut-down-instance.ts';
import type { Run } from '../run.ts';
import type { Stage, Step } from '../stage/stage.ts';
import { forgetVm } from '../state/state-changes.ts';
import { hasRecordedVm } from './has-recorded-vm.ts';

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
    await withContext('Deleting vm in the cloud', () => unlessGone(run.cloud.deleteVm(vmCid), step));
    await run.state.change(forgetVm);
  });
}

async function unlessGone(deletion: Promise<void>, step: Step): Promise<void> {
  await deletion.catch((error: unknown) => {
    if (!isProductError(error, 'VM_NOT_FOUND')) throw error;
    step.skip('VM not found');
  });
}
