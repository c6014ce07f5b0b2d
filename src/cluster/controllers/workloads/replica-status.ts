import type { Pod } from '../../../kubernetes/pod.ts';
import { isPodReady } from '../../../kubernetes/pod-readiness.ts';
import type { ReplicaSet, ReplicaStatus, ReplicationController } from '../../../kubernetes/workload.ts';
import { timestamp } from '../runtime/event-recorder.ts';
import { untilAvailable } from './pod-choice.ts';

export interface ReplicaDecision {
  readonly status: ReplicaStatus;
  /** Milliseconds until another pod is available; undefined where none waits for that. */
  readonly again: number | undefined;
}

/**
 * The status of a ReplicaSet or ReplicationController with those active pods (kubernetes:
 * pkg/controller/replicaset/replica_set_utils.go). `failure`: why pods could not be made or deleted. Pure.
 */
export function replicaStatus(
  { metadata, spec, status }: ReplicaSet | ReplicationController,
  active: readonly Pod[],
  failure: string | undefined,
  now: number,
): ReplicaDecision {
  const labels = Object.entries(spec.template.metadata?.labels ?? {});
  const waits = active.map((pod) => untilAvailable(pod, spec.minReadySeconds ?? 0, now));
  const later = waits.filter((wait) => wait !== undefined && wait > 0) as number[];
  const ready = active.filter(isPodReady).length;
  const available = waits.filter((wait) => wait === 0).length;
  const labelled = active.filter((pod) =>
    labels.every(([key, value]) => pod.metadata.labels?.[key] === value),
  );
  const others = (status?.conditions ?? []).filter(({ type }) => type !== 'ReplicaFailure');
  const former = status?.conditions?.find(({ type }) => type === 'ReplicaFailure');
  // the first one stays: later ones name other pods, and each change of the status would bring the next try at once
  const failed =
    failure === undefined
      ? []
      : [
          former ?? {
            ...{ type: 'ReplicaFailure', status: 'True' as const, reason: 'FailedCreate', message: failure },
            lastTransitionTime: timestamp(now),
          },
        ];
  const conditions = [...others, ...failed];
  return {
    status: {
      replicas: active.length,
      ...(labelled.length > 0 && { fullyLabeledReplicas: labelled.length }),
      ...(ready > 0 && { readyReplicas: ready }),
      ...(available > 0 && { availableReplicas: available }),
      observedGeneration: metadata.generation ?? 0,
      ...(conditions.length > 0 && { conditions }),
    },
    again: later.length === 0 ? undefined : Math.min(...later),
  };
}
