import { isApiError } from '../../kubernetes/api-error.ts';
import { ignoreNotFound } from '../../kubernetes/if-there.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { describeEvents } from '../../kubernetes/pod-words.ts';
import { isTransientError } from '../../kubernetes/wait.ts';
import type { CallContext } from '../cloud.ts';
import { podReference } from './find-vm.ts';

const eventPollMs = 5_000;

/**
 * Waits until the sandbox of a pod could not be made for half of the deadline `sandbox`, then returns the
 * events of the pod. It polls every five seconds until the signal aborts; after that it stays pending. An
 * error of the API does not count as a failure: the wait for the pod itself reports that error.
 */
export async function waitForSandboxFailure(
  cloud: CallContext,
  pod: Pod,
  signal: AbortSignal,
): Promise<string> {
  const limitMs = cloud.config.deadlines.sandbox * 1000;
  let since: number | undefined;
  while (!signal.aborted) {
    await cloud.clock.sleep(Math.min(eventPollMs, limitMs), signal);
    if (signal.aborted) break;
    const events = await sandboxFailure(cloud, pod);
    if (events === undefined) {
      since = undefined;
      continue;
    }
    since ??= cloud.clock.now();
    if (cloud.clock.now() - since >= limitMs / 2) return events;
  }
  return new Promise<never>(() => undefined);
}

/**
 * Returns the events of a pod whose sandbox cannot be made. A sandbox failure appears in events only; the
 * pod's status stays ContainerCreating. Events outlive their cause, so a pod that has a sandbox by now is
 * healthy even if the event exists: its image may not have been pulled yet.
 */
async function sandboxFailure(cloud: CallContext, { metadata }: Pod): Promise<string | undefined> {
  const { name = '', uid } = metadata;
  try {
    const events = await describeEvents(cloud.api, { namespace: cloud.namespace, name, kind: 'Pod', uid });
    return events.includes('FailedCreatePodSandBox') && !(await hasSandbox(cloud, name)) ? events : undefined;
  } catch (error) {
    if (isTransientError(error) || isApiError(error, 403)) return undefined;
    throw error;
  }
}

/**
 * Kubernetes has had the condition since 1.29 (pkg/kubelet/types/constants.go). A pod IP also proves a
 * sandbox.
 */
async function hasSandbox(cloud: CallContext, name: string): Promise<boolean> {
  const pod = await ignoreNotFound(cloud.api.get<Pod>(podReference(cloud, name)));
  const isReady = pod?.status?.conditions?.some(
    ({ type, status }) => type === 'PodReadyToStartContainers' && status === 'True',
  );
  return isReady === true || pod?.status?.podIP !== undefined;
}
