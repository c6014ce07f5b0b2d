import type {
  Container,
  ContainerState,
  ContainerStatus,
  Pod,
  PodCondition,
  PodStatus,
} from '../../../src/kubernetes/types/pod.ts';

export interface SimulatedFacts {
  readonly nodeAddress: string;
  /** Undefined: the address that the pod requests is taken. */
  readonly podAddress: string | undefined;
  /** A Kubernetes timestamp. */
  readonly now: string;
}

/**
 * Returns the status that a kubelet reports for a pod whose init containers succeeded and whose containers
 * run, or for a pod that waits. Pure.
 */
export function simulatedPodStatus(pod: Pod, facts: SimulatedFacts): PodStatus {
  const { nodeAddress: hostIP, podAddress: podIP, now } = facts;
  const runs = podIP !== undefined;
  const ended = { terminated: { exitCode: 0, reason: 'Completed', startedAt: now, finishedAt: now } };
  const running = { running: { startedAt: now } };
  const waiting = { waiting: { reason: 'ContainerCreating' } };
  const inits = pod.spec.initContainers ?? [];
  return {
    phase: runs ? 'Running' : 'Pending',
    conditions: conditions(pod, runs, now),
    hostIP,
    hostIPs: [{ ip: hostIP }],
    ...(podIP !== undefined && { podIP, podIPs: [{ ip: podIP }] }),
    startTime: pod.status?.startTime ?? now,
    ...(inits.length > 0 && {
      initContainerStatuses: inits.map((container) => statusOf(container, runs ? ended : waiting)),
    }),
    containerStatuses: pod.spec.containers.map((container) => statusOf(container, runs ? running : waiting)),
  };
}

/** Returns true if a pod has the status that `simulatedPodStatus` would return. */
export function isReported({ status }: Pod): boolean {
  return (
    status?.phase === 'Running' &&
    status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true
  );
}

function conditions(pod: Pod, runs: boolean, now: string): PodCondition[] {
  const own = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady'].map((type) => ({
    type,
    status: runs ? ('True' as const) : ('False' as const),
    lastProbeTime: null,
    lastTransitionTime: now,
  }));
  const others = (pod.status?.conditions ?? []).filter(({ type }) => !own.some((mine) => mine.type === type));
  return [...own, ...others];
}

function statusOf({ name, image }: Container, state: ContainerState): ContainerStatus {
  const started = state.waiting === undefined;
  return {
    name,
    image,
    imageID: started ? `simulated://${image}` : '',
    ...(started && { containerID: `simulated://${name}` }),
    ready: started,
    started: state.running !== undefined,
    restartCount: 0,
    state,
  };
}
