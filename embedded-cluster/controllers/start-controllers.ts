import type { Clock } from '../../src/platform/clock.ts';
import type { ControlPlaneApi } from '../api-server/control-plane-api.ts';
import type { VolumeProvisioner } from '../node/volume-provisioner.ts';
import { createDefaultAccounts } from './accounts/default-accounts.ts';
import { createRootCertificates } from './accounts/root-certificates.ts';
import { createDisruptionBudgets } from './disruption/disruption-budgets.ts';
import { createResourceQuotaController } from './quotas/quota-usage.ts';
import { createEventExpiry } from './collection/event-expiry.ts';
import { createGarbageCollector } from './collection/garbage-collector.ts';
import { createNamespaceLifecycle } from './collection/namespace-lifecycle.ts';
import { createNodeLifecycle } from './nodes/node-lifecycle.ts';
import { type NodeTimings, defaultNodeTimings } from './nodes/node-timings.ts';
import { createPodCollector } from './nodes/pod-collector.ts';
import { createTaintEviction } from './nodes/taint-eviction.ts';
import type { ControllerContext, CreateController } from './runtime/controller.ts';
import { EventRecorder } from './runtime/event-recorder.ts';
import { allInformers, createInformers } from './runtime/informers.ts';
import { createScheduler } from './scheduling/scheduler.ts';
import { createSnapshotController } from './snapshots/snapshot-controller.ts';
import { createSnapshotTaker } from './snapshots/snapshot-taker.ts';
import { createEndpointSlices } from './services/endpoint-slices.ts';
import { createClaimBinder } from './volumes/claim-binder.ts';
import { createClaimProtection, createVolumeProtection } from './volumes/claim-protection.ts';
import { createEphemeralClaims } from './volumes/ephemeral-claims.ts';
import { createSourceProtection } from './volumes/source-protection.ts';
import { createSourceProvisioner } from './volumes/source-provisioner.ts';
import { createVolumeModifier } from './volumes/volume-modifier.ts';
import { createVolumeReclaimer } from './volumes/volume-reclaimer.ts';
import { createVolumeResizer } from './volumes/volume-resizer.ts';

export interface StartControllersOptions {
  readonly api: ControlPlaneApi;
  readonly provisioner: VolumeProvisioner;
  readonly clock: Clock;
  /** The certificate authority of the API server (PEM), for pods; absent if there is no server. */
  readonly rootCertificate?: string;
  /** Absent: the defaults of Kubernetes. */
  readonly nodeTimings?: NodeTimings;
  /** Returns a number in [0, 1), which spreads retries. */
  readonly random: () => number;
  /** Called with every error. The failed operation is retried, so nothing needs to be done. */
  readonly onError: (error: unknown) => void;
  /** The controllers to start. Absent: all of them. */
  readonly only?: readonly CreateController[];
}

const allControllers: readonly CreateController[] = [
  createGarbageCollector,
  createNamespaceLifecycle,
  createDefaultAccounts,
  createDisruptionBudgets,
  createResourceQuotaController,
  createRootCertificates,
  createEventExpiry,
  createClaimProtection,
  createVolumeProtection,
  createEphemeralClaims,
  createClaimBinder,
  createSourceProvisioner,
  createSourceProtection,
  createVolumeResizer,
  createVolumeModifier,
  createSnapshotController,
  createSnapshotTaker,
  createVolumeReclaimer,
  createEndpointSlices,
  createScheduler,
  createNodeLifecycle,
  createTaintEviction,
  createPodCollector,
];

/**
 * Starts all controllers. Resolves when each of them has read the state of the cluster, rejects if the API
 * does not serve the resources that they need. `stop` finishes reconciliations in progress and writes the
 * recorded events. The next start continues the rest, since all state is in the API.
 */
export async function startControllers(options: StartControllersOptions): Promise<{ stop(): Promise<void> }> {
  const recorders: EventRecorder[] = [];
  const context: ControllerContext = {
    nodeTimings: defaultNodeTimings,
    ...options,
    informers: createInformers(options.api, options),
    rootCertificate: options.rootCertificate,
    recorder: (component) => {
      const recorder = new EventRecorder({ ...options, component });
      recorders.push(recorder);
      return recorder;
    },
  };
  const queues = (options.only ?? allControllers).map((create) => create(context));
  const informers = allInformers(context.informers);
  const watching = informers.map((informer) => informer.run());
  // Controllers start after all informers are synced: a claim must not look lost because its volume is read
  // later.
  const working: Promise<void>[] = [];
  const stop = async (): Promise<void> => {
    for (const part of [...queues, ...informers]) {
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
  working.push(...queues.map((queue) => queue.run()));
  return { stop };
}
