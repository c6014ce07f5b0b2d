import { createHash } from 'node:crypto';
import type { CreateVmArguments } from '../cpi/cloud.ts';
import { within } from '../error-chain.ts';
import type { Run } from '../run.ts';
import { forgetVm, recordVm } from '../state/state-changes.ts';

export interface VmSpecification extends Omit<CreateVmArguments, 'agentId'> {
  /** The stemcell's id in the state file. */
  readonly stemcellId: string;
}

/**
 * Creates the VM and records it. The agent id is on disk before the CPI is called: should this run be killed before the
 * answer is recorded, the next one asks for the same VM again instead of for a second one. After an error too: a CPI that
 * lost the cluster on its way may not have cleaned up.
 */
export async function createVm(run: Run, specification: VmSpecification): Promise<string> {
  const { stemcellId, ...vm } = specification;
  const sha256 = hash(vm);
  if (run.pending.pending.vm?.arguments_sha256 !== sha256) await deletePendingVm(run, specification);
  const agentId = run.pending.pending.vm?.agent_id ?? run.uuid();
  await run.pending.setVm({ agent_id: agentId, arguments_sha256: sha256 });
  const cid = await within(`Creating vm with stemcell cid '${vm.stemcellCid}'`, () =>
    run.cloud.createVm({ agentId, ...vm }),
  );
  await run.state.change(recordVm(cid, stemcellId));
  await run.pending.setVm(undefined);
  return cid;
}

/**
 * Deletes a VM that an interrupted run may have left with another specification. Only the CPI knows its cid, so it is
 * asked for once more first; a CPI answers for the same agent id with the VM that is there.
 */
export async function deletePendingVm(run: Run, specification: VmSpecification): Promise<void> {
  const left = run.pending.pending.vm;
  if (left === undefined) return;
  const { stemcellId, ...vm } = specification;
  const cid = await within(`Finding the VM of agent '${left.agent_id}' that an interrupted run left`, () =>
    run.cloud.createVm({ agentId: left.agent_id, ...vm }),
  );
  await run.state.change(recordVm(cid, stemcellId));
  await run.pending.setVm(undefined);
  await within(`Deleting VM '${cid}' that an interrupted run left`, () => run.cloud.deleteVm(cid));
  await run.state.change(forgetVm);
}

function hash(vm: Omit<CreateVmArguments, 'agentId'>): string {
  return createHash('sha256').update(JSON.stringify(vm)).digest('hex');
}
