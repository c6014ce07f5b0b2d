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
 * Creates the VM and records it. The agent id is on disk before the CPI is called: if this run is killed
 * before the response is recorded, the next run requests the same VM again and not a second one. The agent id
 * also stays pending after an error that may have left a VM behind. After any other error nothing stays
 * pending.
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
    // If this is a retry, an immediate error does not prove that the earlier call with the same id left
    // nothing, so its record stays pending.
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
