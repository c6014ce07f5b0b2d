import type { EventEmitter } from 'node:events';
import type { KubernetesApi } from '../../../kubernetes/api.ts';
import type { Clock } from '../../../kubernetes/clock.ts';
import type { NodeLayout } from '../layout.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';
import type { IdRange } from '../runtime/user-namespace.ts';
import type { PodVolumes } from '../volumes/pod-volumes.ts';
import type { EventRecorder } from './events.ts';
import type { PodAddresses } from './pod-addresses.ts';

/** What every pod worker of a node works with. */
export interface PodServices {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly layout: NodeLayout;
  readonly runtime: ContainerRuntime;
  readonly volumes: PodVolumes;
  readonly addresses: PodAddresses;
  readonly events: EventRecorder;
  /** The Node objects that this machine stands for; events come from the first. */
  readonly nodeNames: readonly string[];
  /** Where pods find the API; see NodeOptions. */
  readonly apiServer?: Promise<URL>;
  /** Ids that exist in the node's user namespace. */
  readonly ids: readonly IdRange[];
  /** Emits the path of a log file after each change. */
  readonly logChanges: EventEmitter;
  /** Aborts when the node stops. */
  readonly stopping: AbortSignal;
  /** What goes wrong beside a pod's own trouble: the node's log. */
  readonly onError: (error: unknown) => void;
}
