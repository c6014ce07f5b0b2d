import type { ContainerStatus, Pod } from '../../kubernetes/pod.ts';
import { placeholderHost } from '../../oci/image-reference.ts';
import { isCpiContainer } from '../own-containers.ts';

/** Waiting reasons of the kubelet that are permanent (kubernetes: pkg/kubelet/images/types.go, events). */
const permanentReasons: Readonly<Record<string, string>> = {
  ImagePullBackOff: 'its image cannot be pulled',
  InvalidImageName: 'its image cannot be pulled',
  ErrImageNeverPull: 'its image cannot be pulled',
  CreateContainerConfigError: 'its container cannot be configured',
  CreateContainerError: 'its container cannot be created',
  RunContainerError: 'its container cannot be run',
  CrashLoopBackOff: 'its container ends again and again',
};

const imageHint = "check the stemcell's image_reference, image_pull_secrets and the way to the registry";
const placeholder =
  `no registry is called ${placeholderHost}: the stemcell was built and not pushed; push it (bosh-kubernetes stemcell push FOLDER ` +
  'HOST/REPOSITORY:TAG) and use the stemcell.tgz that this writes, or load it into every node (bosh-kubernetes stemcell load FOLDER)';
/** What an operator does if there is no better advice. */
export const inspectPodHint =
  'look at its events (kubectl get events) and, where it is still there, at its log (kubectl logs)';
const logHint = 'look at the log of the container (kubectl logs)';
const remedies: Readonly<Record<string, string>> = {
  ImagePullBackOff: imageHint,
  InvalidImageName: imageHint,
  ErrImageNeverPull: imageHint,
  RunContainerError: logHint,
  CrashLoopBackOff: logHint,
};

const injectedContainerHint =
  'an admission webhook of the cluster added this container: mend it there, or have it leave out the pods of this namespace';

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
  return remedy === imageHint && image.startsWith(`${placeholderHost}/`) ? placeholder : remedy;
}

function previousExit({ lastState }: ContainerStatus): string | undefined {
  const ended = lastState?.terminated;
  if (ended === undefined) return undefined;
  return `it ended with exit code ${ended.exitCode}: ${ended.message ?? ended.reason ?? ''}`;
}
