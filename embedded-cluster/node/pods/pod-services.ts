import type { EventEmitter } from 'node:events';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import type { NodeLayout } from '../layout.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';
import type { IdRange } from '../runtime/user-namespace.ts';
import type { PodVolumes } from '../volumes/pod-volumes.ts';
import type { EventRecorder } from './events.ts';
import type { PodAddresses } from './pod-addresses.ts';

/** The services of a node that every pod worker uses. */
export interface PodServices {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly layout: NodeLayout;
  readonly runtime: ContainerRuntime;
  readonly volumes: PodVolumes;
  readonly addresses: PodAddresses;
  readonly events: EventRecorder;
  /** The names of the Node objects that are this machine; events have the first one as their source. */
  readonly nodeNames: readonly string[];
  /** The URL under which pods find the API; see NodeOptions. */
  readonly apiServer?: Promise<URL>;
  /** The ids that exist in the node's user namespace. */
  readonly ids: readonly IdRange[];
  /** Emits the path of a log file after each change. */
  readonly logChanges: EventEmitter;
  /** Aborts when the node stops. */
  readonly stopping: AbortSignal;
  /** Receives the errors that are not the failure of one pod; they are written to the node's log. */
  readonly onError: (error: unknown) => void;
}
