import type { VolumeProvisioner } from '../../node/volume-provisioner.ts';
import type { ControlPlaneApi } from '../../api/control-plane-api.ts';
import type { NodeTimings } from '../nodes/node-timings.ts';
import type { EventRecorder } from './event-recorder.ts';
import type { Informers } from './informers.ts';
import type { ControllerRuntime, WorkQueue } from './work-queue.ts';

/** What every controller is built from. */
export interface ControllerContext extends ControllerRuntime {
  readonly api: ControlPlaneApi;
  readonly informers: Informers;
  readonly provisioner: VolumeProvisioner;
  /** PEM; undefined where the API has no server. */
  readonly rootCertificate: string | undefined;
  readonly nodeTimings: NodeTimings;
  /** The recorder of a component, made once per controller. */
  readonly recorder: (component: string) => EventRecorder;
}

/**
 * Wires a controller: creates its queue and subscribes to informers, which do not run yet.
 * The queue is run and stopped by `startControllers`.
 */
export type CreateController = (context: ControllerContext) => WorkQueue;
