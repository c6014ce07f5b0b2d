import type { ContainerState, Pod, PodCondition, PodStatus } from '../../../src/kubernetes/types/pod.ts';
import { toContainerStatus, type ContainerRecord } from './container-state.ts';
import { nodeAddress } from './pod-addresses.ts';

/** The node's data about a pod, apart from its containers. */
export interface PodFacts {
  readonly startTime: string;
  readonly podIp: string | undefined;
  /** The pod has its address and volumes, so containers may start. */
  readonly sandboxReady: boolean;
  /** The node gave the pod up for this reason: its phase is Failed, in any state of its containers. */
  readonly failure: { readonly reason: string; readonly message: string } | undefined;
}

type Phase = NonNullable<PodStatus['phase']>;

const failed = (state: ContainerState): boolean => (state.terminated?.exitCode ?? 0) !== 0;

/** kubelet's getPhase (kubelet_pods.go), without probes and sidecars. */
export function podPhase(pod: Pod, records: readonly ContainerRecord[]): Phase {
  const inits = records.filter((record) => record.init);
  const containers = records.filter((record) => !record.init);
  const policy = pod.spec.restartPolicy ?? 'Always';
  const ending = pod.metadata.deletionTimestamp !== undefined;
  const initialized = inits.every((record) => record.state.terminated?.exitCode === 0);
  if (!initialized && inits.some((record) => failed(record.state)) && (policy === 'Never' || ending)) {
    return 'Failed';
  }
  if (!initialized) {
    return containers.some((record) => record.lastState !== undefined) ? 'Running' : 'Pending';
  }
  if (containers.every((record) => record.state.terminated !== undefined)) {
    if (policy === 'Always' && !ending) {
      return 'Running';
    }
    const anyFailed = containers.some((record) => failed(record.state));
    return !anyFailed ? 'Succeeded' : policy === 'OnFailure' && !ending ? 'Running' : 'Failed';
  }
  const fresh = containers.every(
    (record) => record.state.waiting !== undefined && record.lastState === undefined,
  );
  return fresh ? 'Pending' : 'Running';
}

function condition(type: string, holds: boolean, why: { reason: string; message: string }): PodCondition {
  return holds ? { type, status: 'True' } : { type, status: 'False', ...why };
}

function conditions(phase: Phase, records: readonly ContainerRecord[], facts: PodFacts): PodCondition[] {
  const inits = records.filter((record) => record.init);
  const containers = records.filter((record) => !record.init);
  const names = (some: readonly ContainerRecord[]): string => some.map((record) => record.name).join(' ');
  const incomplete = inits.filter((record) => record.state.terminated?.exitCode !== 0);
  const unready = containers.filter((record) => record.state.running === undefined);
  const done = phase === 'Succeeded' || phase === 'Failed';
  const notReady = done
    ? { reason: phase === 'Succeeded' ? 'PodCompleted' : 'PodFailed', message: '' }
    : { reason: 'ContainersNotReady', message: `containers with unready status: [${names(unready)}]` };
  const ready = !done && unready.length === 0 && incomplete.length === 0;
  return [
    condition('PodReadyToStartContainers', facts.sandboxReady && !done, { reason: '', message: '' }),
    condition('Initialized', incomplete.length === 0, {
      reason: 'ContainersNotInitialized',
      message: `containers with incomplete status: [${names(incomplete)}]`,
    }),
    condition('Ready', ready, notReady),
    condition('ContainersReady', ready, notReady),
  ];
}

const withoutEmpty = ({ reason, message, ...rest }: PodCondition): PodCondition => ({
  ...rest,
  ...(reason !== undefined && reason !== '' && { reason }),
  ...(message !== undefined && message !== '' && { message }),
});

/**
 * Keeps conditions of other components (PodScheduled). A condition keeps its transition time while its status
 * is the same.
 */
function mergeConditions(
  previous: readonly PodCondition[],
  own: readonly PodCondition[],
  now: string,
): PodCondition[] {
  const kept = previous.filter((each) => !own.some((ownCondition) => ownCondition.type === each.type));
  const merged = own.map((each) => {
    const before = previous.find((other) => other.type === each.type);
    const since = before?.status === each.status ? (before.lastTransitionTime ?? now) : now;
    return { ...withoutEmpty(each), lastProbeTime: null, lastTransitionTime: since };
  });
  return [...merged, ...kept];
}

/** Returns the status that the node reports for a pod. `now` is a Kubernetes timestamp. */
export function podStatus(
  pod: Pod,
  records: readonly ContainerRecord[],
  facts: PodFacts,
  now: string,
): PodStatus {
  const phase = facts.failure === undefined ? podPhase(pod, records) : 'Failed';
  const previous = pod.status ?? {};
  const ip = facts.podIp;
  return {
    ...(previous.qosClass !== undefined && { qosClass: previous.qosClass }),
    ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
    phase,
    ...facts.failure,
    conditions: mergeConditions(previous.conditions ?? [], conditions(phase, records, facts), now),
    hostIP: nodeAddress,
    hostIPs: [{ ip: nodeAddress }],
    ...(ip !== undefined && { podIP: ip, podIPs: [{ ip }] }),
    startTime: previous.startTime ?? facts.startTime,
    ...(records.some((record) => record.init) && {
      initContainerStatuses: records.filter((record) => record.init).map(toContainerStatus),
    }),
    containerStatuses: records.filter((record) => !record.init).map(toContainerStatus),
  };
}
