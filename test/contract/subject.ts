import type { KubernetesApi } from '../../src/kubernetes/api.ts';

/** An API under test and the namespace, empty and its own, in which the suite may do what it wants. */
export interface Subject {
  readonly api: KubernetesApi;
  readonly namespace: string;
  end(): Promise<void>;
}
