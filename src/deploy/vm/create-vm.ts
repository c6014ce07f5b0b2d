import { createHash } from 'node:crypto';
import { toJson } from '../../bosh/yaml/exact-json.ts';
import { withContext } from '../../platform/error-chain.ts';
import type { CreateVmArguments } from '../cpi/cpi-client.ts';
import { mayHaveLeftVm } from '../cpi/cpi-runner.ts';
import type { Run } from '../session.ts';
import { recordVm } from '../state/state-changes.ts';
import { deletePendingVm } from './delete-vm.ts';
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
  const leftover = run.pending.pending.vm;
  const agentId = leftover?.agent_id ?? run.uuid();
  await run.pending.setVm({ agent_id: agentId, arguments_sha256: sha256 });
  const cid = await withContext(`Creating vm with stemcell cid '${vm.stemcellCid}'`, () =>
    run.cloud.createVm({ agentId, ...vm }),
  ).catch(async (error: unknown) => {
    // If this is a retry, an immediate error does not prove that the earlier call with the same id left
    // nothing, so its record stays pending.
    if (leftover === undefined && !mayHaveLeftVm(error)) await run.pending.setVm(undefined);
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

/**
 * Checks with the CPI whether it could create the instance's VM in place of the recorded one, which still
 * runs. Rejects if it could not, or if nothing is recorded and the cloud has a VM or a disk with that
 * metadata, as after the loss of the state file. Warns of what the CPI could not check. Passes with any other
 * CPI than ours, because only ours has the method.
 */
export async function checkVm(
  run: Run,
  specification: VmSpecification,
  { deployment, instance_group, director, index }: Readonly<Record<string, string>>,
): Promise<void> {
  const { stemcellId: _, ...vm } = specification;
  const { current_vm_cid: cid, disks } = run.state.state;
  const { vm: pendingVm, disks: pendingDisks } = run.pending.pending;
  // A killed run records no VM after it has deleted the previous one, but its disk or the pending VM.
  const isNew = cid === '' && pendingVm === undefined && disks.length + pendingDisks.length === 0;
  // Use the pending agent id if there is one, because create_vm continues with it; otherwise a random one.
  const agentId = pendingVm?.agent_id ?? run.uuid();
  const instance = isNew ? { deployment, instance_group, director, index } : undefined;
  const notes = await withContext('Checking that the VM can be created; no VM was stopped or created', () =>
    run.cloud.checkVm({ agentId, ...vm }, cid === '' ? undefined : cid, instance),
  );
  for (const note of notes) run.warn(note);
}
