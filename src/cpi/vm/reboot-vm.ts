import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { ContainerStatus, Pod } from '../../kubernetes/types/pod.ts';
import { describePodAndEvents } from '../../kubernetes/describe-pod.ts';
import { waitFor } from '../../kubernetes/client/wait.ts';
import type { CallContext } from '../call.ts';
import type { VmCidRequest } from '../protocol/methods.ts';
import { lostNodeError, whileNodeAnswers } from '../objects/node-state.ts';
import { vmContainer, vmContainerStatus } from '../objects/layout.ts';
import { findVm, recreateHint } from './vms.ts';
import { podReference } from '../objects/names.ts';
import { requireActiveVm } from '../disk/attach/attachments.ts';
import { isGated } from './recorded-pod.ts';
import { inspectPodHint } from './wait-until-running.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import { stopScript } from './scripts/prepare-and-stop.ts';

/**
 * reboot_vm(vm_cid): returns when a new container runs in the VM's pod, which keeps its address, its disks
 * and the agent's state; the agent then runs the jobs of the last apply again. If the container is down
 * already, it only waits for the next one. A repeated call restarts the container once more. It writes
 * nothing through the API: it runs the stop script by exec, which ends PID 1. Rejects with VM_NOT_FOUND, with
 * VM_NOT_REBOOTED if the pod is terminal, with NODE_LOST, or with DEADLINE.
 */
export async function rebootVm(call: CallContext, { vmCid: cid }: VmCidRequest): Promise<null> {
  const found = await findVm(call, cid);
  if (await isRecreated(call, cid, found)) return null;
  const vm = await requireActiveVm(call, cid, found);
  const previousStatus = statusOf(vm);
  const finished = new AbortController();
  const asking =
    previousStatus?.state?.running === undefined
      ? Promise.resolve(undefined)
      : signalStop(call, { pod: cid, isStill: isContainer(previousStatus, vm), signal: finished.signal });
  const waiting = whileNodeAnswers(call, {
    nodeName: vm.spec.nodeName ?? '',
    work: (signal) => hasRestarted(call, vm, previousStatus, AbortSignal.any([signal, finished.signal])),
    whenLost: (lost) =>
      Promise.reject(lostNodeError(`VM '${cid}' was not rebooted`, lost, { stakes: [], isDeleting: false })),
  }).finally(() => {
    finished.abort();
  });
  try {
    await Promise.all([waiting, asking]);
  } catch (error) {
    finished.abort();
    throw withSignalError(error, await asking);
  }
  return null;
}

/**
 * Creates the recorded pod if an attach or detach by `recreate` was killed: then the VM has no pod that
 * stays, or one that waits at its gate. That starts its container too, so the VM is rebooted. Returns whether
 * it did.
 */
async function isRecreated(call: CallContext, cid: string, pod: Pod | undefined): Promise<boolean> {
  if (pod !== undefined && pod.metadata.deletionTimestamp === undefined && !isGated(pod)) return false;
  const { findRecreateStrategyVm: findRecreatedVm } = await import('../disk/attach/recreate.ts');
  if ((await findRecreatedVm(call, cid, pod)) === undefined) return false;
  await (
    await import('./recorded-pod.ts')
  ).reconcileRecordedPod(call, cid, {
    deadlineSeconds: call.config.deadlines.rebootVm,
  });
  return true;
}

const statusOf = (pod: Pod): ContainerStatus | undefined => vmContainerStatus(pod.status?.containerStatuses);

/** Returns a check that is true while that container still runs: only then is the stop script sent again. */
const isContainer =
  (former: ContainerStatus, { metadata }: Pod) =>
  (pod: Pod): boolean => {
    const now = statusOf(pod);
    return (
      pod.metadata.uid === metadata.uid &&
      now?.containerID === former.containerID &&
      now?.state?.running !== undefined
    );
  };

async function hasRestarted(
  call: CallContext,
  vm: Pod,
  former: ContainerStatus | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { name = '', uid } = vm.metadata;
  await waitFor<Pod, true>({
    api: call.api,
    clock: call.clock,
    signal,
    reference: podReference(call, name),
    condition: (pod) => {
      if (pod === undefined || pod.metadata.uid !== uid || pod.metadata.deletionTimestamp !== undefined)
        throw new ProductError(
          'VM_NOT_FOUND',
          `VM '${name}' was deleted while it was rebooted; ${recreateHint}`,
        );
      const { phase, reason = '', message = '' } = pod.status ?? {};
      if (phase === 'Failed' || phase === 'Succeeded')
        throw new ProductError('VM_NOT_REBOOTED', terminalError(name, phase, `${reason} ${message}`.trim()));
      const now = statusOf(pod);
      const isNew = now?.containerID !== undefined && now.containerID !== former?.containerID;
      return isNew && now.state?.running !== undefined ? true : undefined;
    },
    awaited:
      `container ${vmContainer} of pod ${name} to run again ` +
      '(the kubelet pauses for up to five minutes before it restarts a container that ended several times)',
    deadlineMs: call.config.deadlines.rebootVm * 1000,
    lastWords: async (last) => ({
      state: await describePodAndEvents(call.api, { namespace: call.namespace, name }, last),
      next: inspectPodHint,
    }),
    onProgress: call.reportProgress,
  });
}

const terminalError = (name: string, phase: string, why: string): string =>
  `VM '${name}' cannot be rebooted: its pod has ended for good (${phase}${why === '' ? '' : `: ${why}`}); ` +
  'delete the VM and create it anew';

function withSignalError(error: unknown, trouble: string | undefined): unknown {
  if (trouble === undefined || !(error instanceof ProductError) || error.code !== 'DEADLINE') return error;
  return new ProductError('DEADLINE', `${error.message}; asking PID 1 to end failed: ${trouble}`, {
    cause: error,
  });
}

export interface StopOptions {
  readonly pod: string;
  /** Returns whether the container that must end still runs, by the current state of the pod. */
  readonly isStill: (pod: Pod) => boolean;
  readonly signal: AbortSignal;
}

const execDeadlineMs = 30_000;
const retryMs = 5_000;

/**
 * Sends the stop script to PID 1 of a VM until it is delivered: the connection may break, also because the
 * container ended. Sends it only to the container that was read, so that no second one is stopped. Returns
 * the last error; undefined if PID 1 received it. Ends with `signal`; rejects if the role does not allow it
 * (403).
 */
export async function signalStop(call: CallContext, options: StopOptions): Promise<string | undefined> {
  let trouble: string | undefined;
  while (!options.signal.aborted) {
    trouble = await sendSignal(call, options.pod);
    if (trouble === undefined) return undefined;
    await call.clock.sleep(retryMs, options.signal);
    if (!options.signal.aborted && !(await isSameContainer(call, options))) return undefined;
  }
  return trouble;
}

async function sendSignal(call: CallContext, pod: string): Promise<string | undefined> {
  try {
    const { exitCode, stderr } = await call.exec({
      pod,
      container: vmContainer,
      command: ['/bin/sh', '-c', stopScript, 'stop'],
      deadlineMs: execDeadlineMs,
    });
    return exitCode === 0 ? undefined : `exit code ${exitCode}: ${stderr.trim()}`;
  } catch (error) {
    return transientMessage(error);
  }
}

async function isSameContainer(call: CallContext, { pod, isStill }: StopOptions): Promise<boolean> {
  try {
    return isStill(await call.api.get<Pod>(podReference(call, pod)));
  } catch (error) {
    transientMessage(error);
    return true;
  }
}

/**
 * Returns the message of a transient error; rethrows anything else, which is a bug of the CPI or a missing
 * role.
 */
function transientMessage(error: unknown): string {
  if ((isApiError(error) && error.code !== 403) || isProductError(error)) return error.message;
  throw error;
}
