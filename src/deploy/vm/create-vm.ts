import { createHash } from 'node:crypto';
import { toJson } from '../../bosh/yaml/exact-json.ts';
import type { CreateVmArguments } from '../cpi/cloud.ts';
import { mayHaveLeftVm } from '../cpi/cpi-response.ts';
import { withContext } from '../error-chain.ts';
import type { Run } from '../run.ts';
import { recordVm } from '../state/state-changes.ts';
import { deletePendingVm } from './delete-pending-vm.ts';
import type { VmSpecification } from './vm-specification.ts';

/**
 * Creates the VM and records it. The agent id is on disk before the CPI is called: should this run be killed before the
 * answer is recorded, the next one asks for the same VM again instead of for a second one. So it does after an error with which
 * something may be left; where nothing is, nothing stays pending.
 */
export async function createVm(
  run: Run,
  specification: VmSpecification,
): Promise<{ readonly cid: string; readonly agentId: string }> {
  const { stemcellId, ...vm } = specification;
  const sha256 = hash(vm);
  if (run.pending.pending.vm?.arguments_sha256 !== sha256) await deletePendingVm(run, specification);
  const left = run.pending.pending.vm;
  const agentId = left?.agent_id ?? run.uuid();
  await run.pending.setVm({ agent_id: agentId, arguments_sha256: sha256 });
  const cid = await withContext(`Creating vm with stemcell cid '${vm.stemcellCid}'`, () =>
    run.cloud.createVm({ agentId, ...vm }),
  ).catch(async (error: unknown) => {
    // refused at once, a call says nothing of what an earlier one with the same id has left
    if (left === undefined && !mayHaveLeftVm(error)) await run.pending.setVm(undefined);
    throw error;
  });
  await run.pending.setVm({ agent_id: agentId, arguments_sha256: sha256, cid });
  await run.state.change(recordVm({ cid, agentId, stemcellId }));
  await run.pending.setVm(undefined);
  return { cid, agentId };
}

function hash(vm: Omit<CreateVmArguments, 'agentId'>): string {
  return createHash('sha256').update(toJson(vm)).digest('hex');
}
