import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import type { Transport } from '../../src/kubernetes/transport.ts';

/** An API under test and the namespace, empty and its own, in which the suite may do what it wants. */
export interface Subject {
  readonly api: KubernetesApi;
  readonly namespace: string;
  end(): Promise<void>;
}

/** A subject that is reached over HTTP, for what the port does not show: queries, headers, other bodies. */
export interface WireSubject extends Subject {
  readonly wire: Transport;
}
