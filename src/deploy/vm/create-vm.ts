import { createHash } from 'node:crypto';
import type { CreateVmArguments } from '../cpi/cloud.ts';
import { within } from '../error-chain.ts';
import type { Run } from '../run.ts';
import { recordVm } from '../state/state-changes.ts';
import { deletePendingVm } from './delete-pending-vm.ts';

export interface VmSpecification extends Omit<CreateVmArguments, 'agentId'> {
  /** The stemcell's id in the state file. */
  readonly stemcellId: string;
}

/**
 * Creates the VM and records it. The agent id is on disk before the CPI is called: should this run be killed before the
 * answer is recorded, the next one asks for the same VM again instead of for a second one. After an error too: a CPI that
 * lost the cluster on its way may not have cleaned up.
 */
export async function createVm(
  run: Run,
  specification: VmSpecification,
): Promise<{ readonly cid: string; readonly agentId: string }> {
  const { stemcellId, ...vm } = specification;
  const sha256 = hash(vm);
  if (run.pending.pending.vm?.arguments_sha256 !== sha256) await deletePendingVm(run, specification);
  const agentId = run.pending.pending.vm?.agent_id ?? run.uuid();
  await run.pending.setVm({ agent_id: agentId, arguments_sha256: sha256 });
  const cid = await within(`Creating vm with stemcell cid '${vm.stemcellCid}'`, () =>
    run.cloud.createVm({ agentId, ...vm }),
  );
  await run.pending.setVm({ agent_id: agentId, arguments_sha256: sha256, cid });
  await run.state.change(recordVm({ cid, agentId, stemcellId }));
  await run.pending.setVm(undefined);
  return { cid, agentId };
}

function hash(vm: Omit<CreateVmArguments, 'agentId'>): string {
  return createHash('sha256').update(JSON.stringify(vm)).digest('hex');
}
