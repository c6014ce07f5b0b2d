import type { Pod } from '../../../kubernetes/pod.ts';
import { annotation } from '../../labels.ts';
import { mountContainer } from '../../own-containers.ts';
import { mountFailedExit } from './volume-functions.ts';

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

const mountContainerStatus = (pod: Pod): ContainerStatus | undefined =>
  pod.status?.containerStatuses?.find(({ name }) => name === mountContainer);

/** True while the holder runs: it can be asked whether the volume is in the VM. */
export const isRunning = (pod: Pod): boolean => mountContainerStatus(pod)?.state?.running !== undefined;

/** Why the holder's last start could not put the volume into the VM; undefined where it could, or has not ended. */
export function mountFailure(pod: Pod): string | undefined {
  const { state, lastState } = mountContainerStatus(pod) ?? {};
  if (state?.running !== undefined) return undefined;
  const ended = state?.terminated ?? lastState?.terminated;
  if (ended?.exitCode !== mountFailedExit) return undefined;
  return ended.message?.trim() ?? `mounting it failed with exit code ${ended.exitCode}`;
}

/**
 * True for an attachment in which nothing runs or ever will: its kubelet ended it for lack of room or at the node's shutdown, or refused
 * it after its own restart, and then it may tell of no container at all (kubernetes: pkg/kubelet eviction, nodeshutdown, rejectPod).
 * What it mounted may be in the VM still.
 */
export const isTerminal = ({ status }: Pod): boolean =>
  status?.phase === 'Failed' || status?.phase === 'Succeeded';

/** True for an attachment that was made where a former one may have left the disk in the VM. */
export const takesOver = ({ metadata }: Pod): boolean =>
  metadata.annotations?.[annotation.takesOver] === 'true';

/** True where a holder ever ran. */
export function hasStarted(pod: Pod): boolean {
  const { state, lastState } = mountContainerStatus(pod) ?? {};
  return [state?.running, state?.terminated, lastState?.terminated].some((one) => one !== undefined);
}

/**
 * True where a holder ever ran, or takes the disk over from a former one, and did not say that it could not mount: the volume may be in
 * the VM whatever it does now.
 */
export const mayBeMounted = (pod: Pod): boolean =>
  (hasStarted(pod) || takesOver(pod)) && mountFailure(pod) === undefined;
