import { describePodAndEvents } from '../../kubernetes/describe-pod.ts';
import type { CallContext } from '../call.ts';
import type { VmCidRequest } from '../protocol/methods.ts';
import { vmContainerStatus } from '../objects/layout.ts';
import { findVm, vmNotFound } from './vms.ts';
import { inspectPodHint, startProblem } from './wait-until-running.ts';

/**
 * describe_vm(vm_cid): returns what keeps the VM's container from running, or has ended it before, and the
 * next step; null if it has run since its pod was created. VM_NOT_FOUND without a pod. Only this CPI has the
 * method: create-env calls it if an agent does not answer.
 */
export async function describeVm(call: CallContext, { vmCid: cid }: VmCidRequest): Promise<string | null> {
  const pod = await findVm(call, cid);
  if (pod === undefined) throw vmNotFound(call, cid);
  const { name, namespace, deletionTimestamp } = pod.metadata;
  const { state, restartCount = 0 } = vmContainerStatus(pod.status?.containerStatuses) ?? {};
  if (deletionTimestamp === undefined && state?.running !== undefined && restartCount === 0) return null;
  return (
    startProblem(pod) ??
    `${await describePodAndEvents(call.api, { namespace, name }, pod)}; ${inspectPodHint}`
  );
}
