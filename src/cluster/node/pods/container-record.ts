import type { ContainerState, ContainerStatus, PodStatus } from '../../../kubernetes/pod.ts';

/** What the node knows of one container of a pod; becomes its ContainerStatus. */
export interface ContainerRecord {
  readonly name: string;
  readonly image: string;
  readonly init: boolean;
  restartCount: number;
  containerId: string | undefined;
  state: ContainerState;
  lastState: ContainerState | undefined;
}

export type Terminated = NonNullable<ContainerState['terminated']>;

const waiting = (reason: string): ContainerState => ({ waiting: { reason } });

/** Kubelet's word for a container whose end nobody saw (kuberuntime: ContainerStatusUnknown). */
function lost(status: ContainerStatus, now: string): ContainerState {
  const startedAt = status.state?.running?.startedAt;
  return {
    terminated: {
      exitCode: 255,
      reason: 'Unknown',
      message: 'the node was restarted while the container ran',
      ...(startedAt !== undefined && { startedAt }),
      finishedAt: now,
      ...(status.containerID !== undefined && { containerID: status.containerID }),
    },
  };
}

/**
 * The record with which a container starts in this life of the node. One that ran in an earlier life counts as
 * restarted; how it ended is kept where it is known.
 */
export function openRecord(
  container: { readonly name: string; readonly image: string },
  init: boolean,
  previous: PodStatus | undefined,
  now: string,
): ContainerRecord {
  const statuses = init ? previous?.initContainerStatuses : previous?.containerStatuses;
  const status = statuses?.find((each) => each.name === container.name);
  const record = { name: container.name, image: container.image, init, containerId: undefined };
  const state = waiting(
    init || (previous?.initContainerStatuses?.length ?? 0) > 0 ? 'PodInitializing' : 'ContainerCreating',
  );
  if (status?.containerID === undefined) {
    return { ...record, restartCount: 0, state, lastState: undefined };
  }
  const ended = status.state?.terminated ?? status.lastState?.terminated;
  const lastState =
    status.state?.running !== undefined || ended === undefined ? lost(status, now) : { terminated: ended };
  return { ...record, restartCount: status.restartCount + 1, state, lastState };
}

export function toContainerStatus(record: ContainerRecord): ContainerStatus {
  const running = record.state.running !== undefined;
  const completed = record.init && record.state.terminated?.exitCode === 0;
  return {
    name: record.name,
    image: record.image,
    imageID: record.containerId === undefined ? '' : record.image,
    ...(record.containerId !== undefined && { containerID: record.containerId }),
    ready: record.init ? completed : running,
    started: running,
    restartCount: record.restartCount,
    state: record.state,
    ...(record.lastState !== undefined && { lastState: record.lastState }),
  };
}
