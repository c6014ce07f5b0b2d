import * as resources from '../../../../src/kubernetes/resources.ts';
import { EventRecorder } from '../../../../embedded-cluster/controllers/runtime/event-recorder.ts';
import { Informer } from '../../../../embedded-cluster/controllers/runtime/informer.ts';
import type { ControllerRuntime } from '../../../../embedded-cluster/controllers/runtime/work-queue.ts';
import type { KubernetesApi } from '../../../../src/kubernetes/api.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../../../src/kubernetes/types/storage.ts';
import type { Driver } from '../drivers.ts';
import { connect } from '../grpc/client.ts';
import { createClaimProvisioner } from './claim-provisioner.ts';
import { createVolumeDeleter } from './volume-deleter.ts';

export interface ProvisionerOptions extends ControllerRuntime {
  readonly api: KubernetesApi;
  /** Each driver with the socket of its controller service. */
  readonly drivers: readonly { readonly driver: Driver; readonly socket: string }[];
}

/**
 * Creates and deletes the volumes of these drivers' classes, as kubernetes-csi/external-provisioner does
 * elsewhere (no Go module proxy has that one). Run one instance at a time. All state is in the API server and
 * in the drivers. A source needs no finalizer while it is cloned, because the driver copies it within the
 * call.
 */
export async function startProvisioner(options: ProvisionerOptions): Promise<{ stop(): Promise<void> }> {
  const { api } = options;
  const claims = new Informer<PersistentVolumeClaim>(api, resources.persistentVolumeClaims, options);
  const classes = new Informer<StorageClass>(api, resources.storageClasses, options);
  const volumes = new Informer<PersistentVolume>(api, resources.persistentVolumes, options);
  const parts = options.drivers.map(({ driver, socket }) => {
    const recorder = new EventRecorder({ ...options, component: driver.name });
    const controller = connect('Controller', socket);
    const context = { ...options, driver, recorder, controller, claims, classes, volumes };
    return { recorder, controller, queues: [createClaimProvisioner(context), createVolumeDeleter(context)] };
  });
  const informers = [claims, classes, volumes];
  const queues = parts.flatMap((part) => part.queues);
  const working = informers.map((informer) => informer.run());
  const stop = async (): Promise<void> => {
    for (const part of [...queues, ...informers]) part.stop();
    await Promise.all(working);
    await Promise.all(parts.map(({ recorder }) => recorder.flush()));
    for (const { controller } of parts) controller.close();
  };
  try {
    await Promise.all(informers.map(({ synced }) => synced));
  } catch (error) {
    await stop();
    throw error;
  }
  working.push(...queues.map((queue) => queue.run()));
  return { stop };
}
