import { withContext } from '../error-chain.ts';
import type { Run } from '../run.ts';
import type { VmSpecification } from './vm-specification.ts';

/**
 * Asks the CPI whether it could create the instance's VM in place of the recorded one, while that still
 * runs: rejects where it could not, and warns of what it does not know. A CPI without such a method, as all
 * others are, passes.
 */
export async function checkVm(run: Run, specification: VmSpecification): Promise<void> {
  const { stemcellId: _, ...vm } = specification;
  const { current_vm_cid: cid } = run.state.state;
  // of the id that create_vm goes on with; else one of nobody
  const agentId = run.pending.pending.vm?.agent_id ?? run.uuid();
  const notes = await withContext('Checking that the VM can be created; no VM was stopped or created', () =>
    run.cloud.checkVm({ agentId, ...vm }, cid === '' ? undefined : cid),
  );
  for (const note of notes) run.warn(note);
}
