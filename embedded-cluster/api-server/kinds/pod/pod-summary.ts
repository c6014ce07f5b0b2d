import type { ContainerState, Pod } from '../../../../src/kubernetes/types/pod.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { ageOf } from '../duration.ts';

export interface PodSummary {
  /** `1/1` */
  readonly ready: string;
  /** The STATUS column: `Running`, `Init:0/1`, `CrashLoopBackOff`, `Terminating` */
  readonly status: string;
  /** `2 (5m ago)` */
  readonly restarts: string;
}

/** Returns the columns of `kubectl get pods` (pkg/printers/internalversion/printers.go, printPod). */
export function summarizePod(object: StoredObject, now: number): PodSummary {
  const pod = object as unknown as Pod;
  const initial = pod.status?.initContainerStatuses ?? [];
  const main = pod.status?.containerStatuses ?? [];
  const initializing = initStatus(pod);
  const counted = initializing === undefined ? main : initial;
  const restarts = counted.reduce((sum, status) => sum + status.restartCount, 0);
  const finished = counted
    .map((status) => status.lastState?.terminated?.finishedAt)
    .filter((time) => time !== undefined)
    .toSorted()
    .at(-1);
  const ready = main.filter((status) => status.ready && status.state?.running !== undefined).length;
  return {
    ready: `${ready}/${pod.spec.containers.length}`,
    status: terminating(pod) ?? initializing ?? mainStatus(pod),
    restarts:
      restarts > 0 && finished !== undefined ? `${restarts} (${ageOf(finished, now)} ago)` : String(restarts),
  };
}

function terminating({ metadata, status }: Pod): string | undefined {
  if (metadata.deletionTimestamp === undefined) return undefined;
  if (status?.reason === 'NodeLost') return 'Unknown';
  return ['Failed', 'Succeeded'].includes(status?.phase ?? '') ? undefined : 'Terminating';
}

function initStatus(pod: Pod): string | undefined {
  const statuses = pod.status?.initContainerStatuses ?? [];
  const index = statuses.findIndex(({ state }) => state?.terminated?.exitCode !== 0);
  const state = statuses[index]?.state;
  if (state === undefined) return undefined;
  if (state.terminated !== undefined) return `Init:${terminatedReason(state)}`;
  const reason = state.waiting?.reason ?? '';
  if (reason !== '' && reason !== 'PodInitializing') return `Init:${reason}`;
  return `Init:${index}/${pod.spec.initContainers?.length ?? 0}`;
}

function mainStatus(pod: Pod): string {
  const phase = pod.status?.reason ?? pod.status?.phase ?? 'Unknown';
  const statuses = pod.status?.containerStatuses ?? [];
  const reasons = statuses.toReversed().map(({ state }) => {
    if ((state?.waiting?.reason ?? '') !== '') return state?.waiting?.reason;
    return state?.terminated === undefined ? undefined : terminatedReason(state);
  });
  const reason = reasons.findLast((found) => found !== undefined) ?? phase;
  const running = statuses.some(({ state, ready }) => ready && state?.running !== undefined);
  if (reason !== 'Completed' || !running) return reason;
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
    ? 'Running'
    : 'NotReady';
}

function terminatedReason({ terminated }: ContainerState): string {
  if ((terminated?.reason ?? '') !== '') return terminated?.reason ?? '';
  const signal = terminated?.signal ?? 0;
  return signal === 0 ? `ExitCode:${terminated?.exitCode ?? 0}` : `Signal:${signal}`;
}
