import type { KubernetesObject } from './object.ts';
import type { LabelSelector } from './pod.ts';

/** policy/v1 PodDisruptionBudget. */
export interface PodDisruptionBudget extends KubernetesObject {
  spec: {
    /** A number, or a percentage of the replicas that the pods' controllers desire, as `50%`. */
    minAvailable?: number | string;
    maxUnavailable?: number | string;
    selector?: LabelSelector;
    unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow';
  };
  status?: DisruptionBudgetStatus;
}

export interface DisruptionBudgetStatus {
  observedGeneration?: number;
  /**
   * Evictions that the server allowed and that have not happened yet: the pod's name and the time of the
   * eviction.
   */
  disruptedPods?: Record<string, string>;
  disruptionsAllowed: number;
  currentHealthy: number;
  desiredHealthy: number;
  expectedPods: number;
  conditions?: BudgetCondition[];
}

interface BudgetCondition {
  type: string;
  status: 'True' | 'False';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}
