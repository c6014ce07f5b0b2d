import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import type { Transport } from '../../src/kubernetes/client/transport.ts';

/** An API under test, with an empty namespace that only the suite uses. */
export interface Subject {
  readonly api: KubernetesApi;
  readonly namespace: string;
  end(): Promise<void>;
}

/**
 * A subject that is reached over HTTP, for behaviour that KubernetesApi does not show: queries, headers,
 * other bodies.
 */
export interface WireSubject extends Subject {
  readonly wire: Transport;
}
