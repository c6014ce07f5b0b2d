import type { ContainerStatus, Pod } from '../../kubernetes/pod.ts';

/** Waiting reasons of the kubelet that another try does not mend (kubernetes: pkg/kubelet/images/types.go, events). */
const lasting: Readonly<Record<string, string>> = {
  ImagePullBackOff: 'its image cannot be pulled',
  InvalidImageName: 'its image cannot be pulled',
  ErrImageNeverPull: 'its image cannot be pulled',
  CreateContainerConfigError: 'its container cannot be configured',
  CreateContainerError: 'its container cannot be created',
  RunContainerError: 'its container cannot be run',
  CrashLoopBackOff: 'its container ends again and again',
};

const images = "check the stemcell's image_reference, image_pull_secrets and the way to the registry";
/** What is left to an operator where nothing better is known. */
export const lookAtPod =
  'look at its events (kubectl get events) and, where it is still there, at its log (kubectl logs)';
const logs = 'look at the log of the container (kubectl logs)';
const remedies: Readonly<Record<string, string>> = {
  ImagePullBackOff: images,
  InvalidImageName: images,
  ErrImageNeverPull: images,
  RunContainerError: logs,
  CrashLoopBackOff: logs,
};

/** Decides whether a pod that has a node and has not started is hopeless: what is wrong, or undefined. Pure. */
export function startProblem(pod: Pod): string | undefined {
  const { phase, reason, message } = pod.status ?? {};
  if (phase === 'Failed' || phase === 'Succeeded')
    return `it ended: ${reason ?? phase}: ${message ?? 'no message'}; ${lookAtPod}`;
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  return statuses.map(containerProblem).find((problem) => problem !== undefined);
}

function containerProblem({ name, state, lastState }: ContainerStatus): string | undefined {
  const reason = state?.waiting?.reason;
  const cause = reason === undefined ? undefined : lasting[reason];
  if (cause === undefined) return undefined;
  const ended = lastState?.terminated;
  const detail = [
    state?.waiting?.message,
    ended === undefined
      ? undefined
      : `it ended with exit code ${ended.exitCode}: ${ended.message ?? ended.reason ?? ''}`,
  ].filter((part) => part !== undefined);
  const remedy = remedies[reason ?? ''] ?? lookAtPod;
  return `${cause} (container ${name}, ${reason ?? ''}): ${detail.join('; ')}; ${remedy}`;
}
