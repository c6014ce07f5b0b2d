import type { KubernetesObject, ObjectMeta } from './object.ts';
import type { LabelSelector, PodSpec } from './pod.ts';

/** v1.PodTemplateSpec */
export interface PodTemplateSpec {
  metadata?: ObjectMeta;
  spec: PodSpec;
}

export interface WorkloadCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
}

/** What a ReplicaSet and a ReplicationController say of their pods. */
export interface ReplicaStatus {
  replicas?: number;
  fullyLabeledReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  observedGeneration?: number;
  conditions?: WorkloadCondition[];
}

/** apps/v1 */
export interface ReplicaSet extends KubernetesObject {
  spec: {
    replicas?: number;
    minReadySeconds?: number;
    selector: LabelSelector;
    template: PodTemplateSpec;
  };
  status?: ReplicaStatus;
}

/** v1, whose selector is a plain map. */
export interface ReplicationController extends KubernetesObject {
  spec: {
    replicas?: number;
    minReadySeconds?: number;
    selector?: Record<string, string>;
    template: PodTemplateSpec;
  };
  status?: ReplicaStatus;
}

/** Of a rolling update: a count, or a share of the replicas (`25%`). */
export interface RollingUpdate {
  maxSurge?: number | string;
  maxUnavailable?: number | string;
}

/** apps/v1 */
export interface Deployment extends KubernetesObject {
  spec: {
    replicas?: number;
    minReadySeconds?: number;
    paused?: boolean;
    revisionHistoryLimit?: number;
    progressDeadlineSeconds?: number;
    selector: LabelSelector;
    strategy?: { type?: 'RollingUpdate' | 'Recreate'; rollingUpdate?: RollingUpdate };
    template: PodTemplateSpec;
  };
  status?: DeploymentStatus;
}

export interface DeploymentStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  unavailableReplicas?: number;
  collisionCount?: number;
  conditions?: WorkloadCondition[];
}
