import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { ContainerStatus, Pod } from '../../kubernetes/types/pod.ts';
import { describePodAndEvents } from '../../kubernetes/describe-pod.ts';
import { waitForObject } from '../objects/wait-for-object.ts';
import type { CallContext } from '../call.ts';
import type { VmCidRequest } from '../protocol/methods.ts';
import { lostNodeError, whileNodeAnswers } from '../objects/node-state.ts';
import { vmContainer, vmContainerStatus } from '../objects/layout.ts';
import { findVm, recreateHint } from './vms.ts';
import { podReference } from '../objects/names.ts';
import { requireActiveVm } from '../disk/attach/attachments.ts';
import { isGated, reconcileRecordedPod } from './recorded-pod.ts';
import { inspectPodHint } from './wait-until-running.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import { stopScript } from './scripts/prepare-and-stop.ts';

const execDeadlineMs = 30_000;
const retryMs = 5_000;

/**
 * reboot_vm(vm_cid): returns when a new container runs in the VM's pod, which keeps its address, its disks
 * and the agent's state; the agent then runs the jobs of the last apply again. If the container is down
 * already, it only waits for the next one. A repeated call restarts the container once more. It writes
 * nothing through the API: it runs the stop script by exec, which ends PID 1. Rejects with VM_NOT_FOUND, with
 * VM_NOT_REBOOTED if the pod is terminal, with NODE_LOST, or with DEADLINE.
 */
export async function rebootVm(call: CallContext, { vmCid: cid }: VmCidRequest): Promise<null> {
  const existing = await findVm(call, cid);
  if (await finishRecreation(call, cid, existing)) return null;
  const vm = await requireActiveVm(call, cid, existing);
  await restartContainer(call, cid, vm);
  return null;
}

/**
 * Creates the recorded pod if an attach or detach by `recreate` was killed: then the VM has no pod that
 * stays, or one that waits at its gate. That starts its container too, so the VM is rebooted. Returns whether
 * it did.
 */
async function finishRecreation(call: CallContext, cid: string, pod: Pod | undefined): Promise<boolean> {
  if (pod !== undefined && pod.metadata.deletionTimestamp === undefined && !isGated(pod)) return false;
  const { findRecreateStrategyVm } = await import('../disk/attach/recreate.ts');
  if ((await findRecreateStrategyVm(call, cid, pod)) === undefined) return false;
  await reconcileRecordedPod(call, cid, { deadlineSeconds: call.config.deadlines.rebootVm });
  return true;
}

/** Sends the stop script to the container, if it runs, and waits until another container of the pod runs. */
async function restartContainer(call: CallContext, cid: string, vm: Pod): Promise<void> {
  const previous = containerStatus(vm);
  const finished = new AbortController();
  const sending =
    previous?.state?.running === undefined
      ? Promise.resolve(undefined)
      : signalStop(call, { pod: cid, isStill: isContainer(previous, vm), signal: finished.signal });
  const waiting = whileNodeAnswers(call, {
    nodeName: vm.spec.nodeName ?? '',
    work: (signal) => waitForRestart(call, vm, previous, AbortSignal.any([signal, finished.signal])),
    whenLost: (lost) =>
      Promise.reject(lostNodeError(`VM '${cid}' was not rebooted`, lost, { stakes: [], isDeleting: false })),
  }).finally(() => {
    finished.abort();
  });
  try {
    await Promise.all([waiting, sending]);
  } catch (error) {
    finished.abort();
    throw withSignalError(error, await sending);
  }
}

const containerStatus = (pod: Pod): ContainerStatus | undefined =>
  vmContainerStatus(pod.status?.containerStatuses);

/** Returns a check that is true while that container still runs: only then is the stop script sent again. */
const isContainer =
  (previous: ContainerStatus, { metadata }: Pod) =>
  (pod: Pod): boolean => {
    const current = containerStatus(pod);
    return (
      pod.metadata.uid === metadata.uid &&
      current?.containerID === previous.containerID &&
      current?.state?.running !== undefined
    );
  };

async function waitForRestart(
  call: CallContext,
  vm: Pod,
  previous: ContainerStatus | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { name, uid } = vm.metadata;
  await waitForObject<Pod, true>(call, {
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
      const current = containerStatus(pod);
      const isNew = current?.containerID !== undefined && current.containerID !== previous?.containerID;
      return isNew && current.state?.running !== undefined ? true : undefined;
    },
    awaited:
      `container ${vmContainer} of pod ${name} to run again ` +
      '(the kubelet pauses for up to five minutes before it restarts a container that ended several times)',
    deadlineMs: call.config.deadlines.rebootVm * 1000,
    describeState: async (last) => ({
      state: await describePodAndEvents(call.api, { namespace: call.namespace, name }, last),
      next: inspectPodHint,
    }),
  });
}

const terminalError = (name: string, phase: string, why: string): string =>
  `VM '${name}' cannot be rebooted: its pod has ended and will not start again (${phase}${why === '' ? '' : `: ${why}`}); ` +
  'delete the VM and create it again';

function withSignalError(error: unknown, signalError: string | undefined): unknown {
  if (signalError === undefined || !(error instanceof ProductError) || error.code !== 'DEADLINE')
    return error;
  return new ProductError(
    'DEADLINE',
    `${error.message}; the stop script could not be sent to PID 1: ${signalError}`,
    {
      cause: error,
    },
  );
}

interface StopOptions {
  readonly pod: string;
  /** Returns whether the container that must end still runs, by the current state of the pod. */
  readonly isStill: (pod: Pod) => boolean;
  readonly signal: AbortSignal;
}

/**
 * Sends the stop script to PID 1 of a VM until it is delivered: the connection may break, also because the
 * container ended. Sends it only to the container that was read, so that no second one is stopped. Returns
 * the last error; undefined if PID 1 received it. Ends with `signal`; rejects if the role does not allow it
 * (403).
 */
async function signalStop(call: CallContext, options: StopOptions): Promise<string | undefined> {
  let lastError: string | undefined;
  while (!options.signal.aborted) {
    lastError = await sendSignal(call, options.pod);
    if (lastError === undefined) return undefined;
    await call.clock.sleep(retryMs, options.signal);
    if (!options.signal.aborted && !(await isSameContainer(call, options))) return undefined;
  }
  return lastError;
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
