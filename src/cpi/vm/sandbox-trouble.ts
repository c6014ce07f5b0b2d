import { isApiError } from '../../kubernetes/api-error.ts';
import { ignoreNotFound } from '../../kubernetes/if-there.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { describeEvents } from '../../kubernetes/pod-words.ts';
import { isTransientError } from '../../kubernetes/wait.ts';
import type { CallContext } from '../cloud.ts';
import { podReference } from './find-vm.ts';

const eventPollMs = 5_000;

/**
 * Resolves with the events of a pod whose sandbox cannot be made, as soon as that has lasted for half of the deadline `sandbox`;
 * it looks every five seconds until the signal aborts, after which it stays pending. What it cannot ask is no trouble: the
 * wait for the pod itself says what is wrong with the API.
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
 * Shows in events alone: the pod's status says no more than ContainerCreating. An event outlives its cause, though: when there is
 * a sandbox, nothing is wrong with a pod whose image is still being pulled.
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

/** The condition is of Kubernetes 1.29 (pkg/kubelet/types/constants.go); the address comes with the sandbox, too. */
async function hasSandbox(cloud: CallContext, name: string): Promise<boolean> {
  const pod = await ignoreNotFound(cloud.api.get<Pod>(podReference(cloud, name)));
  const isReady = pod?.status?.conditions?.some(
    ({ type, status }) => type === 'PodReadyToStartContainers' && status === 'True',
  );
  return isReady === true || pod?.status?.podIP !== undefined;
}
