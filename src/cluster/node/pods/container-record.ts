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

const waiting = (reason: string): ContainerState => ({ waiting: { reason } });

/** Kubelet's word for a container whose end nobody saw (kuberuntime: ContainerStatusUnknown). */
function unknownExit(status: ContainerStatus, now: string): ContainerState {
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

function statusOf(name: string, init: boolean, previous: PodStatus | undefined): ContainerStatus | undefined {
  const statuses = init ? previous?.initContainerStatuses : previous?.containerStatuses;
  return statuses?.find((each) => each.name === name);
}

/** How it ended in an earlier life, as far as that is known. */
function previousTermination(status: ContainerStatus, now: string): ContainerState {
  const terminated = status.state?.terminated ?? status.lastState?.terminated;
  const wasRunning = status.state?.running !== undefined;
  return wasRunning || terminated === undefined ? unknownExit(status, now) : { terminated };
}

/**
 * The record with which a container starts in this life of the node. One that ran in an earlier life counts as
 * restarted; how it ended is kept where it is known.
 */
export function restoreState(
  container: { readonly name: string; readonly image: string },
  init: boolean,
  previous: PodStatus | undefined,
  now: string,
): ContainerRecord {
  const status = statusOf(container.name, init, previous);
  const ran = status?.containerID !== undefined;
  return {
    ...{ name: container.name, image: container.image, init, containerId: undefined },
    restartCount: ran ? status.restartCount + 1 : 0,
    state: waiting(init ? 'PodInitializing' : 'ContainerCreating'),
    lastState: ran ? previousTermination(status, now) : undefined,
  };
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
