import { profiles } from '../../cpi/config/profile.ts';
import type { CallContext } from '../../cpi/call.ts';
import { isRoleRefusal } from '../../cpi/vm/quota.ts';
import type { ClusterFacts } from '../cluster/cluster-facts.ts';
import { unchecked, unmet, type Finding, type Requirement } from '../finding.ts';
import {
  doctorUuid,
  messageOf,
  removeTrials,
  trialCall,
  type TrialPorts,
  type TrialSettings,
} from './trial-call.ts';
import { tryDisk, type DiskRequest } from './try-disk.ts';
import { tryFixedAddress, tryNodePort, tryVm, type StartedVm, type VmRequest } from './try-vm.ts';
import { untilAborted } from './until-aborted.ts';

export interface TrialRequest extends TrialSettings, DiskRequest, Omit<VmRequest, 'profile'> {
  /** A free address of the network of the pods. Undefined: that of the first VM, which is deleted. */
  readonly address: string | undefined;
}

export interface TrialContext extends TrialPorts {
  readonly facts: ClusterFacts;
  /** Connects to a TCP port, and rejects if that is not possible. */
  readonly connect: (host: string, port: number) => Promise<void>;
  /** Aborted by the operator. */
  readonly signal: AbortSignal;
}

const removal: Requirement = {
  ...{ check: 'Removal', neededBy: 'the objects of this trial', otherwise: 'failed' },
  remedy: `run this again; the objects have the label bosh.cloudfoundry.org/director-id=${doctorUuid}`,
};

/**
 * Tries in the cluster what the CPI does there, by the methods of the CPI: a VM, a Service of type
 * NodePort, a disk, and a fixed address if the cluster gives any. First removes what killed trials have
 * left, and at the end what it made, also if the signal is aborted; a removal that fails is a finding.
 * Rejects with the reason of the signal.
 */
export async function tryCluster(request: TrialRequest, context: TrialContext): Promise<Finding[]> {
  const { signal, onProgress } = context;
  const call = trialCall(request, context);
  const { namespace } = request;
  const before = await remove(call, (error) => notMade(error, namespace));
  if (before !== undefined) return [before];
  try {
    const findings = await runTrial(request, context);
    // A method of the CPI may have reported the interrupt as its own error, which is then only a row.
    signal.throwIfAborted();
    onProgress('Removing what the trial made');
    const after = await remove(call, (error) => notRemoved(error, namespace));
    return after === undefined ? findings : [...findings, after];
  } catch (error) {
    const left = await remove(call, (failure) => notRemoved(failure, namespace));
    onProgress(left === undefined ? 'What the trial made was removed' : `${left.detail}; ${left.remedy}`);
    signal.throwIfAborted();
    throw error;
  }
}

/** Returns the row of a removal that was not possible. */
async function remove(call: CallContext, rowOf: (error: unknown) => Finding): Promise<Finding | undefined> {
  try {
    await removeTrials(call);
    return undefined;
  } catch (error) {
    return rowOf(error);
  }
}

const notRemoved = (error: unknown, namespace: string): Finding =>
  unmet(removal, namespace, messageOf(error));

/** The objects of earlier trials could not be removed, so this trial has made none. */
function notMade(error: unknown, namespace: string): Finding {
  if (!isRoleRefusal(error)) return notRemoved(error, namespace);
  const detail = `it was not made: ${messageOf(error)}`;
  const remedy = 'use a kubeconfig with the rights of the CPI';
  return unchecked({ ...removal, check: 'Trial' }, namespace, { detail, remedy });
}

async function runTrial(request: TrialRequest, context: TrialContext): Promise<Finding[]> {
  const { facts, signal, onProgress } = context;
  const call = trialCall(request, { ...context, ...untilAborted(context, signal) });
  // the profile with the most rights that the namespace admits
  const profile = profiles.find((each) => facts.admission.vms[each] === '') ?? 'privileged';
  const vmRequest = { ...request, profile };
  onProgress(`Starting a VM of the profile ${profile} in namespace ${request.namespace}`);
  const [started, vm] = await tryVm(call, vmRequest);
  if (vm === undefined) return [started];
  return [
    started,
    await tryNodePort(call, vm, context),
    await tryDisk(call, { ...request, vm }, { facts, onProgress }),
    ...(await tryAddress(call, { ...vmRequest, address: request.address }, { vm, facts, onProgress })),
  ];
}

/** Only tries an address that the operator named, or if the cluster is known to assign them. */
async function tryAddress(
  call: CallContext,
  request: VmRequest & Pick<TrialRequest, 'address'>,
  { vm, facts, onProgress }: Pick<TrialContext, 'facts' | 'onProgress'> & { readonly vm: StartedVm },
): Promise<Finding[]> {
  const address = request.address ?? vm.address;
  const { fixedIpSupport = 'none' } = facts;
  const isTried = request.address !== undefined || fixedIpSupport !== 'none';
  if (!isTried || address === undefined) return [];
  onProgress(`Starting a VM with the address ${address}`);
  return [await tryFixedAddress(call, { ...request, address }, vm)];
}
