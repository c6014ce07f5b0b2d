import type { EventRecorder } from '../../src/kubernetes/controllers/event-recorder.ts';
import type { ControllerRuntime } from '../../src/kubernetes/controllers/work-queue.ts';
import type { ControlPlaneApi } from '../api-server/control-plane-api.ts';
import type { VolumeProvisioner } from '../node/volume-provisioner.ts';
import type { Informers } from './informers.ts';

/** The parts of the cluster that a controller may use; `Kind` are the informers that it uses. */
export interface ControllerContext<Kind extends keyof Informers = keyof Informers> extends ControllerRuntime {
  readonly api: ControlPlaneApi;
  readonly informers: Pick<Informers, Kind>;
  readonly provisioner: VolumeProvisioner;
  /** The certificate authority in PEM; undefined if the API has no server. */
  readonly rootCertificate: string | undefined;
  /** Creates the event recorder of a component, once per controller. */
  readonly recorder: (component: string) => EventRecorder;
}
