import { withContext } from '../error-chain.ts';
import type { Run } from '../run.ts';
import type { VmSpecification } from './vm-specification.ts';

/**
 * Checks with the CPI whether it could create the instance's VM in place of the recorded one, which still
 * runs. Rejects if it could not, and warns of what the CPI could not check. Passes with any other CPI than
 * ours, because only ours has the method.
 */
export async function checkVm(run: Run, specification: VmSpecification): Promise<void> {
  const { stemcellId: _, ...vm } = specification;
  const { current_vm_cid: cid } = run.state.state;
  // Use the pending agent id if there is one, because create_vm continues with it; otherwise a random one.
  const agentId = run.pending.pending.vm?.agent_id ?? run.uuid();
  const notes = await withContext('Checking that the VM can be created; no VM was stopped or created', () =>
    run.cloud.checkVm({ agentId, ...vm }, cid === '' ? undefined : cid),
  );
  for (const note of notes) run.warn(note);
}
