import type { Pod } from '../../../kubernetes/types/pod.ts';
import { annotation } from '../../objects/labels.ts';
import { mountContainer } from '../../objects/layout.ts';
import { mountFailedExit } from './scripts/volume-functions.ts';

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

const mountContainerStatus = (pod: Pod): ContainerStatus | undefined =>
  pod.status?.containerStatuses?.find(({ name }) => name === mountContainer);

/** Returns true while the mount container runs: it can report then whether the volume is in the VM. */
export const isRunning = (pod: Pod): boolean => mountContainerStatus(pod)?.state?.running !== undefined;

/**
 * Returns why the last start of the mount container could not mount the volume in the VM; undefined if it
 * could, or has not ended.
 */
export function mountFailure(pod: Pod): string | undefined {
  const { state, lastState } = mountContainerStatus(pod) ?? {};
  if (state?.running !== undefined) return undefined;
  const ended = state?.terminated ?? lastState?.terminated;
  if (ended?.exitCode !== mountFailedExit) return undefined;
  return ended.message?.trim() ?? `mounting it failed with exit code ${ended.exitCode}`;
}

/**
 * Returns true if the pod is terminal (Failed or Succeeded): evicted, shut down with its node, or rejected by
 * the kubelet after its restart. Its status may list no container (kubernetes: pkg/kubelet eviction,
 * nodeshutdown, rejectPod). Its mount may still be in the VM.
 */
export const isTerminal = ({ status }: Pod): boolean =>
  status?.phase === 'Failed' || status?.phase === 'Succeeded';

/**
 * Returns true for an attachment pod that was made when the disk may still have been mounted from an earlier
 * one.
 */
export const takesOver = ({ metadata }: Pod): boolean =>
  metadata.annotations?.[annotation.adoptsMount] === 'true';

/** Returns true if the mount container ever ran. */
export function hasStarted(pod: Pod): boolean {
  const { state, lastState } = mountContainerStatus(pod) ?? {};
  return [state?.running, state?.terminated, lastState?.terminated].some((one) => one !== undefined);
}

/**
 * Returns true if the disk may be mounted in the VM: the mount container has run (or adopted an existing
 * mount) and did not report a mount failure.
 */
export const mayBeMounted = (pod: Pod): boolean =>
  (hasStarted(pod) || takesOver(pod)) && mountFailure(pod) === undefined;
