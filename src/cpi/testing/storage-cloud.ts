import type { TestContext } from 'node:test';
import type { Kind } from '../../../embedded-cluster/api-server/kinds/kind.ts';
import type { LocalApi } from '../../../embedded-cluster/api-server/local-api.ts';
import type { ControllerContext } from '../../../embedded-cluster/controllers/controller-context.ts';
import type { Controller } from '../../kubernetes/controllers/controller.ts';
import { GarbageCollector } from '../../../embedded-cluster/controllers/garbage-collector.ts';
import { SnapshotController } from '../../../embedded-cluster/controllers/snapshots/snapshot-controller.ts';
import { SnapshotSidecar } from '../../../embedded-cluster/controllers/snapshots/snapshot-sidecar.ts';
import { startControllers } from '../../../embedded-cluster/controllers/start-controllers.ts';
import { FakeProvisioner } from '../../../embedded-cluster/controllers/testing/cluster-fixture.ts';
import { ClaimBinder } from '../../../embedded-cluster/controllers/volumes/claim-binder.ts';
import { SourceProtection } from '../../../embedded-cluster/controllers/volumes/claim-protection.ts';
import { SourceProvisioner } from '../../../embedded-cluster/controllers/volumes/provisioning.ts';
import { VolumeModifier } from '../../../embedded-cluster/controllers/volumes/volume-modifier.ts';
import { VolumeReclaimer } from '../../../embedded-cluster/controllers/volumes/volume-reclaimer.ts';
import { VolumeResizer } from '../../../embedded-cluster/controllers/volumes/volume-resizer.ts';
import { systemClock } from '../../platform/clock.ts';
import { nodes, storageClasses } from '../../kubernetes/resources.ts';
import type { StorageClass } from '../../kubernetes/types/storage.ts';
import { nodeName } from './fake-node.ts';
import { type TestCloud, testCloud } from './test-cloud.ts';

export interface StorageCloud extends TestCloud {
  /** Records what the driver provisioned; it makes no directories. */
  readonly provisioner: FakeProvisioner;
}

const driver = 'bosh-kubernetes.io/local';
const controllers = (context: ControllerContext): Controller[] => [
  new ClaimBinder(context),
  new SourceProvisioner(context),
  new SourceProtection(context),
  new VolumeResizer(context),
  new VolumeModifier(context),
  new VolumeReclaimer(context),
  new SnapshotController(context),
  new SnapshotSidecar(context),
  new GarbageCollector(context),
];

/**
 * Returns a test cloud with the storage controllers of the embedded cluster. Its classes: `local` (default)
 * and `later` bind at the first consumer; `now` and `other` at once; `fixed` is not expandable; `foreign`
 * belongs to a driver that does not run.
 */
export async function storageCloud(
  t: TestContext,
  config: Record<string, unknown> = {},
  moreKinds: readonly Kind[] = [],
): Promise<StorageCloud> {
  const world = await testCloud(t, config, moreKinds);
  const storage = await startStorage(world.api);
  t.after(() => storage.stop());
  return { ...world, provisioner: storage.provisioner };
}

/** Starts the classes, the controllers and the driver of a storage cloud. */
export async function startStorage(
  api: LocalApi,
): Promise<{ readonly provisioner: FakeProvisioner; stop(): Promise<void> }> {
  await api.create(nodes, { metadata: { name: nodeName, labels: { 'kubernetes.io/hostname': nodeName } } });
  const classes: [string, Partial<StorageClass>][] = [
    ['later', { volumeBindingMode: 'WaitForFirstConsumer' }],
    ['now', {}],
    ['other', {}],
    ['fixed', { allowVolumeExpansion: false }],
    ['foreign', { provisioner: 'driver.example' }],
  ];
  for (const [name, more] of classes) {
    const base = { metadata: { name }, provisioner: driver, allowVolumeExpansion: true };
    await api.create<StorageClass>(storageClasses, { ...base, volumeBindingMode: 'Immediate', ...more });
  }
  const provisioner = new FakeProvisioner();
  const running = await startControllers({
    ...{ api, provisioner, clock: systemClock, controllers },
    random: () => 0,
    // a failed reconcile is retried, and a test that waits in vain fails with a message
    onError: () => undefined,
  });
  return { provisioner, stop: () => running.stop() };
}
