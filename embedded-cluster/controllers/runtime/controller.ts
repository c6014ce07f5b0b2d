import type { VolumeProvisioner } from '../../node/volume-provisioner.ts';
import type { ControlPlaneApi } from '../../api-server/control-plane-api.ts';
import type { NodeTimings } from '../nodes/node-timings.ts';
import type { EventRecorder } from './event-recorder.ts';
import type { Informers } from './informers.ts';
import type { ControllerRuntime, WorkQueue } from './work-queue.ts';

/** The dependencies of every controller. */
export interface ControllerContext extends ControllerRuntime {
  readonly api: ControlPlaneApi;
  readonly informers: Informers;
  readonly provisioner: VolumeProvisioner;
  /** The certificate authority in PEM; undefined if the API has no server. */
  readonly rootCertificate: string | undefined;
  readonly nodeTimings: NodeTimings;
  /** Creates the event recorder of a component, once per controller. */
  readonly recorder: (component: string) => EventRecorder;
}

/**
 * Creates a controller: its queue and its subscriptions to informers, which do not run yet.
 * `startControllers` runs and stops the queue.
 */
export type CreateController = (context: ControllerContext) => WorkQueue;
