import { EventRecorder } from '../../src/kubernetes/controllers/event-recorder.ts';
import type { Controller } from '../../src/kubernetes/controllers/controller.ts';
import type { Clock } from '../../src/platform/clock.ts';
import type { ControlPlaneApi } from '../api-server/control-plane-api.ts';
import type { VolumeProvisioner } from '../node/volume-provisioner.ts';
import type { ControllerContext } from './controller-context.ts';
import { allInformers, createInformers } from './informers.ts';
import { Scheduler } from './scheduling/scheduler.ts';
import { SnapshotController } from './snapshots/snapshot-controller.ts';
import { EndpointSlices } from './services/endpoint-slices.ts';
import { ClaimBinder } from './volumes/claim-binder.ts';
import { ClaimProtection, SourceProtection, VolumeProtection } from './volumes/claim-protection.ts';
import { EphemeralClaims } from './volumes/ephemeral-claims.ts';
import { VolumeModifier } from './volumes/volume-modifier.ts';
import { VolumeReclaimer } from './volumes/volume-reclaimer.ts';
import { VolumeResizer } from './volumes/volume-resizer.ts';
import { DisruptionBudgets } from './disruption-budgets.ts';
import { EventExpiry } from './event-expiry.ts';
import { GarbageCollector } from './garbage-collector.ts';
import { NamespaceLifecycle } from './namespace-lifecycle.ts';
import { ResourceQuotas } from './resource-quotas.ts';
import { RootCaPublisher } from './root-ca-publisher.ts';
import { ServiceAccounts } from './service-accounts.ts';
import { SnapshotSidecar } from './snapshots/snapshot-sidecar.ts';
import { SourceProvisioner } from './volumes/provisioning.ts';

export interface StartControllersOptions {
  readonly api: ControlPlaneApi;
  readonly provisioner: VolumeProvisioner;
  readonly clock: Clock;
  /** The certificate authority of the API server (PEM), for pods; absent if there is no server. */
  readonly rootCertificate?: string;
  /** Returns a number in [0, 1), which spreads retries. */
  readonly random: () => number;
  /** Called with every error. The failed operation is retried, so nothing needs to be done. */
  readonly onError: (error: unknown) => void;
  /** Creates the controllers to start. Absent: `allControllers`. */
  readonly controllers?: (context: ControllerContext) => readonly Controller[];
}

/** Creates the controllers of the embedded cluster. */
export function allControllers(context: ControllerContext): Controller[] {
  return [
    new GarbageCollector(context),
    new NamespaceLifecycle(context),
    new ServiceAccounts(context),
    new DisruptionBudgets(context),
    new ResourceQuotas(context),
    new RootCaPublisher(context),
    new EventExpiry(context),
    new ClaimProtection(context),
    new VolumeProtection(context),
    new EphemeralClaims(context),
    new ClaimBinder(context),
    new SourceProvisioner(context),
    new SourceProtection(context),
    new VolumeResizer(context),
    new VolumeModifier(context),
    new SnapshotController(context),
    new SnapshotSidecar(context),
    new VolumeReclaimer(context),
    new EndpointSlices(context),
    new Scheduler(context),
  ];
}

/**
 * Starts the controllers. Resolves when each of them has read the state of the cluster, rejects if the API
 * does not serve the resources that they need. `stop` finishes reconciliations in progress and writes the
 * recorded events. The next start continues the rest, since all state is in the API.
 */
export async function startControllers(options: StartControllersOptions): Promise<{ stop(): Promise<void> }> {
  const recorders: EventRecorder[] = [];
  const context: ControllerContext = {
    ...options,
    informers: createInformers(options.api, options),
    rootCertificate: options.rootCertificate,
    recorder: (component) => {
      const recorder = new EventRecorder({ ...options, component });
      recorders.push(recorder);
      return recorder;
    },
  };
  const controllers = (options.controllers ?? allControllers)(context);
  const informers = allInformers(context.informers);
  const watching = informers.map((informer) => informer.run());
  // Controllers start after all informers are synced: a claim must not look lost because its volume is read
  // later.
  const working: Promise<void>[] = [];
  const stop = async (): Promise<void> => {
    for (const part of [...controllers, ...informers]) {
      part.stop();
    }
    await Promise.all([...watching, ...working]);
    await Promise.all(recorders.map((recorder) => recorder.flush()));
  };
  try {
    await Promise.all(informers.map(({ synced }) => synced));
  } catch (error) {
    await stop();
    throw error;
  }
  working.push(...controllers.map((controller) => controller.run()));
  return { stop };
}
