import type {
  Deployment,
  DeploymentStatus,
  ReplicaSet,
  WorkloadCondition,
} from '../../../kubernetes/workload.ts';
import { timestamp } from '../runtime/event-recorder.ts';
import { slackOf } from './rollout.ts';

export interface DeploymentDecision {
  readonly status: DeploymentStatus;
  /** Milliseconds until the rollout has lasted too long; undefined where it is over. */
  readonly again: number | undefined;
}

type Count = 'replicas' | 'readyReplicas' | 'availableReplicas';

/**
 * The status of a Deployment with those sets (kubernetes: pkg/controller/deployment/sync.go, progress.go).
 * `present`: the set of its template, undefined while there is none. Pure.
 */
export function deploymentStatus(
  deployment: Deployment,
  present: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
  now: number,
): DeploymentDecision {
  const sets = [...(present === undefined ? [] : [present]), ...old];
  const wanted = deployment.spec.replicas ?? 1;
  const counts = podCounts(sets, present);
  const isComplete =
    counts.updatedReplicas === wanted &&
    counts.replicas === wanted &&
    counts.availableReplicas === wanted &&
    present !== undefined;
  const progress = progressing(deployment, { present, isComplete, counts, now });
  const failure = sets
    .flatMap(({ status }) => status?.conditions ?? [])
    .find(({ type }) => type === 'ReplicaFailure');
  const others = (deployment.status?.conditions ?? []).filter(
    ({ type }) => !['Available', 'Progressing', 'ReplicaFailure'].includes(type),
  );
  const { collisionCount } = deployment.status ?? {};
  return {
    status: {
      observedGeneration: deployment.metadata.generation ?? 0,
      ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
      ...(collisionCount !== undefined && { collisionCount }),
      conditions: [
        ...others,
        settled(deployment, availability(deployment, counts.availableReplicas), now),
        ...(progress === undefined ? [] : [settled(deployment, progress, now)]),
        ...(failure === undefined ? [] : [settled(deployment, failure, now)]),
      ],
    },
    again: isComplete ? undefined : deadlineOf(deployment, progress, now),
  };
}

/** How many pods of the sets there are, by what can be said of them. */
function podCounts(
  sets: readonly ReplicaSet[],
  present: ReplicaSet | undefined,
): Record<Count | 'updatedReplicas' | 'unavailableReplicas', number> {
  const sum = (name: Count): number => sets.reduce((all, { status }) => all + (status?.[name] ?? 0), 0);
  const available = sum('availableReplicas');
  const wanted = sets.reduce((all, { spec }) => all + (spec.replicas ?? 0), 0);
  return {
    replicas: sum('replicas'),
    updatedReplicas: present?.status?.replicas ?? 0,
    readyReplicas: sum('readyReplicas'),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, wanted - available),
  };
}

function availability(deployment: Deployment, available: number): WorkloadCondition {
  const least = (deployment.spec.replicas ?? 1) - slackOf(deployment).unavailable;
  return available >= least
    ? {
        ...{ type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable' },
        message: 'Deployment has minimum availability.',
      }
    : {
        ...{ type: 'Available', status: 'False', reason: 'MinimumReplicasUnavailable' },
        message: 'Deployment does not have minimum availability.',
      };
}

interface Progress {
  readonly present: ReplicaSet | undefined;
  readonly isComplete: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly now: number;
}

function progressing(
  deployment: Deployment,
  { present, isComplete, counts, now }: Progress,
): WorkloadCondition | undefined {
  const former = conditionOf(deployment, 'Progressing');
  const name = present?.metadata.name ?? '';
  const type = 'Progressing';
  if (deployment.spec.paused === true) {
    return { type, status: 'Unknown', reason: 'DeploymentPaused', message: 'Deployment is paused' };
  }
  if (isComplete) {
    const message = `ReplicaSet "${name}" has successfully progressed.`;
    return { type, status: 'True', reason: 'NewReplicaSetAvailable', message };
  }
  const before = (deployment.status ?? {}) as Readonly<Record<string, unknown>>;
  const moved =
    former === undefined ||
    former.reason === 'NewReplicaSetAvailable' ||
    former.reason === 'DeploymentPaused' ||
    Object.entries(counts).some(([key, count]) => count !== Number(before[key] ?? 0));
  if (!moved && (deadlineOf(deployment, former, now) ?? 1) <= 0) {
    const message = `ReplicaSet "${name}" has timed out progressing.`;
    return { type, status: 'False', reason: 'ProgressDeadlineExceeded', message };
  }
  if (!moved) return former;
  const message = `ReplicaSet "${name}" is progressing.`;
  return { type, status: 'True', reason: 'ReplicaSetUpdated', message, lastUpdateTime: timestamp(now) };
}

function deadlineOf(
  { spec }: Deployment,
  progress: WorkloadCondition | undefined,
  now: number,
): number | undefined {
  if (progress?.status !== 'True') return progress?.reason === 'ProgressDeadlineExceeded' ? 0 : undefined;
  const since = Date.parse(progress.lastUpdateTime ?? timestamp(now));
  return since + 1000 * (spec.progressDeadlineSeconds ?? 600) - now;
}

const conditionOf = ({ status }: Deployment, wanted: string): WorkloadCondition | undefined =>
  status?.conditions?.find(({ type }) => type === wanted);

/** With the times of the condition that was there, where it says the same. */
function settled(deployment: Deployment, condition: WorkloadCondition, now: number): WorkloadCondition {
  const former = conditionOf(deployment, condition.type);
  const isSame = former?.status === condition.status;
  const saysSame = isSame && former.reason === condition.reason && former.message === condition.message;
  const time = timestamp(now);
  return {
    ...condition,
    lastTransitionTime: (isSame ? former.lastTransitionTime : undefined) ?? time,
    lastUpdateTime: condition.lastUpdateTime ?? (saysSame ? former.lastUpdateTime : undefined) ?? time,
  };
}
