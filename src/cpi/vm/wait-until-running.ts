import type { Stored } from '../../kubernetes/object.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Pod, ContainerStatus } from '../../kubernetes/types/pod.ts';
import { describePodAndEvents, describeEvents } from '../../kubernetes/describe-pod.ts';
import { isTransientError } from '../../kubernetes/client/wait.ts';
import { waitForObject } from '../objects/wait-for-object.ts';
import { verifyPodAddresses } from '../network/fixed-addresses.ts';
import type { CallContext } from '../call.ts';
import { annotation } from '../objects/labels.ts';
import { eventsOf, waitForScheduling } from '../objects/describe-pending.ts';
import { vmContainer, vmContainerStatus, isCpiContainer } from '../objects/layout.ts';
import { podReference } from '../objects/names.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import { ignoreNotFound } from '../../kubernetes/api.ts';
import { placeholderHost } from '../../oci/image-reference.ts';

/** The next step for an operator if there is no better advice. */
export const inspectPodHint =
  'look at its events (kubectl get events) and, if it still exists, at its log (kubectl logs)';
const logHint = 'look at the log of the container (kubectl logs)';
const imageHint = "check the stemcell's image_reference, image_pull_secrets and the way to the registry";
const placeholderHint =
  `no registry is called ${placeholderHost}: the stemcell was built and not pushed; push it (bosh-kubernetes stemcell push FOLDER ` +
  'HOST/REPOSITORY:TAG) and use the stemcell.tgz that this writes, or load it into every node (bosh-kubernetes stemcell load FOLDER)';
const injectedContainerHint =
  'an admission webhook of the cluster added this container: fix it there, or have it leave out the pods of this namespace';

/** Waiting reasons of the kubelet that are permanent (kubernetes: pkg/kubelet/images/types.go, events). */
const permanentReasons: Readonly<Record<string, string>> = {
  ImagePullBackOff: 'its image cannot be pulled',
  InvalidImageName: 'its image cannot be pulled',
  ErrImageNeverPull: 'its image cannot be pulled',
  CreateContainerConfigError: 'its container cannot be configured',
  CreateContainerError: 'its container cannot be created',
  RunContainerError: 'its container cannot be run',
  CrashLoopBackOff: 'its container ends each time it is started',
};

const remedies: Readonly<Record<string, string>> = {
  ImagePullBackOff: imageHint,
  InvalidImageName: imageHint,
  ErrImageNeverPull: imageHint,
  RunContainerError: logHint,
  CrashLoopBackOff: logHint,
};

const eventPollMs = 5_000;

/** Why a pod does not run. `isRetryable`: a later attempt may succeed. */
interface StartFailure {
  readonly message: string;
  readonly isRetryable: boolean;
}

const deletedMeanwhile: StartFailure = {
  message: 'its pod was deleted during this call; run the call again',
  isRetryable: true,
};

/**
 * Describes a sandbox failure. If the pod requests an address, the likely cause is a network that does not
 * have it: CNI plugins report that as a sandbox failure.
 */
function describeSandboxFailure(pod: Pod): StartFailure {
  const requested = pod.metadata.annotations?.[annotation.ipAddress];
  const next =
    requested === undefined
      ? 'check that the network plugin of its node runs'
      : `it requests the address ${requested}: check that a subnet or pool of the cluster's network for pods contains it (static_ips of the ` +
        'manifest), whether another pod has it, and whether the network plugin of its node runs';
  return { message: `its pod sandbox cannot be created; ${next}`, isRetryable: true };
}

/**
 * Waits until the VM's container runs with the addresses that its pod requests. Rejects with
 * VM_CREATION_FAILED, or with VM_CREATION_FAILED_RETRY if time or capacity may help; the message has the
 * status and events of Kubernetes.
 */
export async function waitUntilRunning(call: CallContext, pod: Stored<Pod>): Promise<Pod> {
  const finished = new AbortController();
  const scheduled = await waitForScheduling(call, pod, () => startError(deletedMeanwhile, ''));
  const sandbox = rejectOnSandboxFailure(call, pod, finished.signal);
  try {
    return await Promise.race([containerStarted(call, scheduled, finished.signal), sandbox]);
  } finally {
    finished.abort();
    // its errors do not matter once the start has been decided
    sandbox.catch(() => undefined);
  }
}

async function containerStarted(call: CallContext, known: Stored<Pod>, signal: AbortSignal): Promise<Pod> {
  const { name, uid } = known.metadata;
  const subject = { namespace: call.namespace, name };
  const outcome = await waitForObject<Pod, { pod: Pod } | StartFailure>(call, {
    signal,
    reference: podReference(call, name),
    known,
    condition: (pod) => {
      if (pod === undefined || pod.metadata.uid !== uid || pod.metadata.deletionTimestamp !== undefined) {
        return deletedMeanwhile;
      }
      const problem = startProblem(pod);
      if (problem !== undefined) return { message: problem, isRetryable: false };
      if (!isRunning(pod)) return undefined;
      const addressError = verifyPodAddresses(pod);
      return addressError === undefined ? { pod } : { message: addressError, isRetryable: false };
    },
    awaited: `container ${vmContainer} of pod ${name} to run`,
    deadlineMs: call.config.deadlines.createVm * 1000,
    describeState: async (last) => ({
      state: await describePodAndEvents(call.api, subject, last),
      next: inspectPodHint,
    }),
  });
  if ('pod' in outcome) return outcome.pod;
  throw startError(outcome, await eventsOf(call, { ...subject, kind: 'Pod', uid }, outcome.message));
}

function isRunning({ status }: Pod): boolean {
  const container = vmContainerStatus(status?.containerStatuses);
  return container?.state?.running !== undefined && status?.podIP !== undefined;
}

async function rejectOnSandboxFailure(call: CallContext, pod: Pod, signal: AbortSignal): Promise<never> {
  throw startError(describeSandboxFailure(pod), await waitForSandboxFailure(call, pod, signal));
}

function startError({ message, isRetryable }: StartFailure, events: string): ProductError {
  return new ProductError(
    isRetryable ? 'VM_CREATION_FAILED_RETRY' : 'VM_CREATION_FAILED',
    events === '' ? message : `${message}; events: ${events}`,
  );
}

/**
 * Waits until the sandbox of a pod could not be made for half of the deadline `sandbox`, then returns the
 * events of the pod. It polls every five seconds until the signal aborts; after that it stays pending. An
 * error of the API does not count as a failure: the wait for the pod itself reports that error.
 */
export async function waitForSandboxFailure(
  call: CallContext,
  pod: Pod,
  signal: AbortSignal,
): Promise<string> {
  const limitMs = call.config.deadlines.sandbox * 1000;
  let since: number | undefined;
  while (!signal.aborted) {
    await call.clock.sleep(Math.min(eventPollMs, limitMs), signal);
    if (signal.aborted) break;
    const events = await sandboxFailureEvents(call, pod);
    if (events === undefined) {
      since = undefined;
      continue;
    }
    since ??= call.clock.now();
    if (call.clock.now() - since >= limitMs / 2) return events;
  }
  return new Promise<never>(() => undefined);
}

/**
 * Returns the events of a pod whose sandbox cannot be made. A sandbox failure appears in events only; the
 * pod's status stays ContainerCreating. Events outlive their cause, so a pod that has a sandbox by now is
 * healthy even if the event exists: its image may not have been pulled yet.
 */
async function sandboxFailureEvents(call: CallContext, { metadata }: Pod): Promise<string | undefined> {
  const { name, uid } = metadata;
  try {
    const events = await describeEvents(call.api, { namespace: call.namespace, name, kind: 'Pod', uid });
    return events.includes('FailedCreatePodSandBox') && !(await hasSandbox(call, name)) ? events : undefined;
  } catch (error) {
    if (isTransientError(error) || isApiError(error, 403)) return undefined;
    throw error;
  }
}

/**
 * Kubernetes has had the condition since 1.29 (pkg/kubelet/types/constants.go). A pod IP also proves a
 * sandbox.
 */
async function hasSandbox(call: CallContext, name: string): Promise<boolean> {
  const pod = await ignoreNotFound(call.api.get<Pod>(podReference(call, name)));
  const isReady = pod?.status?.conditions?.some(
    ({ type, status }) => type === 'PodReadyToStartContainers' && status === 'True',
  );
  return isReady === true || pod?.status?.podIP !== undefined;
}

/** Returns why a scheduled pod will never start, or undefined if it may still start. */
export function startProblem(pod: Pod): string | undefined {
  const { phase, reason, message } = pod.status ?? {};
  if (phase === 'Failed' || phase === 'Succeeded')
    return `it ended: ${reason ?? phase}: ${message ?? 'no message'}; ${inspectPodHint}`;
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  // of the containers that webhooks added, only an init container can keep those of the CPI from starting
  const statuses = [...initContainerStatuses, ...containerStatuses.filter(isCpiContainer)];
  return statuses.map(containerProblem).find((problem) => problem !== undefined);
}

function containerProblem(status: ContainerStatus): string | undefined {
  const { name, state, image } = status;
  const { reason = '', message } = state?.waiting ?? {};
  const cause = permanentReasons[reason];
  if (cause === undefined) return undefined;
  const isOwn = isCpiContainer(status);
  // a container that was added may wait in this way for its mesh
  if (!isOwn && reason === 'CrashLoopBackOff') return undefined;
  const detail = [message, previousExit(status)].filter((part) => part !== undefined);
  const remedy = isOwn ? cpiContainerHint(reason, image) : injectedContainerHint;
  return `${cause} (container ${name}, ${reason}): ${detail.join('; ')}; ${remedy}`;
}

function cpiContainerHint(reason: string, image: string): string {
  const remedy = remedies[reason] ?? inspectPodHint;
  return remedy === imageHint && image.startsWith(`${placeholderHost}/`) ? placeholderHint : remedy;
}

function previousExit({ lastState }: ContainerStatus): string | undefined {
  const ended = lastState?.terminated;
  if (ended === undefined) return undefined;
  return `it ended with exit code ${ended.exitCode}: ${ended.message ?? ended.reason ?? ''}`;
}
