import assert from 'node:assert/strict';
import * as resources from '../../../../src/kubernetes/resources.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openLocalApi } from '../../../../embedded-cluster/api-server/open-local-api.ts';
import { startControllers } from '../../../../embedded-cluster/controllers/start-controllers.ts';
import { FakeProvisioner } from '../../../../embedded-cluster/controllers/testing/cluster-fixture.ts';
import { isApiError } from '../../../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi, Resource } from '../../../../src/kubernetes/api.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import type { KubernetesObject } from '../../../../src/kubernetes/object.ts';
import type { EventRecord } from '../../../../src/kubernetes/describe-pod.ts';
import type {
  VolumeSnapshot,
  VolumeSnapshotContent,
  PersistentVolume,
  PersistentVolumeClaim,
} from '../../../../src/kubernetes/types/storage.ts';
import { until } from '../../../support/until.ts';
import { loopDriver, plainDriver } from '../drivers.ts';
import { connect, type CsiClient } from '../grpc/client.ts';
import { storageObjects } from '../objects/storage-objects.ts';
import { startController } from '../start.ts';
import { driversAreMissing } from '../testing/driver-process.ts';
import { openVolumeStore, type VolumeStore } from '../volume/volume-store.ts';
import { startProvisioner } from './start-provisioner.ts';

const skip = driversAreMissing() ?? false;
const drivers = [loopDriver, plainDriver];

interface World {
  readonly api: KubernetesApi;
  readonly store: VolumeStore;
  readonly controller: CsiClient;
  start(): Promise<() => Promise<void>>;
  claim(name: string, spec?: Partial<PersistentVolumeClaim['spec']>): Promise<PersistentVolumeClaim>;
  bound(name: string): Promise<PersistentVolume>;
  gone(resource: Resource, name: string): Promise<void>;
  /** Waits for an event about the named object. */
  told(name: string, reason: string, message: RegExp): Promise<void>;
}

/**
 * Starts the embedded API server and its controllers, with the suite's classes, and the drivers' controllers
 * in this process.
 */
async function startWorld(t: TestContext): Promise<World> {
  const directory = await mkdtemp(join(tmpdir(), 'provisioner-'));
  const sockets = join(directory, 's');
  const runtime = { clock: systemClock, random: () => 0, onError: () => undefined };
  const api = await openLocalApi({ directory: join(directory, 'api') });
  const controllers = await startControllers({ ...runtime, api, provisioner: new FakeProvisioner() });
  const data = join(directory, 'csi');
  const stops = await startController({
    directory: data,
    sockets,
    drivers,
    clock: systemClock,
    say: () => undefined,
  });
  const controller = connect('Controller', join(sockets, 'loop.sock'));
  const running = new Set<() => Promise<void>>();
  t.after(async () => {
    for (const stop of running) await stop();
    controller.close();
    for (const stop of stops) stop();
    await controllers.stop();
    await api.close();
    await rm(directory, { recursive: true });
  });
  for (const { resource, object } of storageObjects({ withSnapshots: false })) {
    // The embedded cluster does not know the drivers and does not support StorageClass parameters of theirs.
    if (resource.plural === 'storageclasses' && !('parameters' in object)) await api.create(resource, object);
  }
  return {
    api,
    controller,
    store: await openVolumeStore(join(data, loopDriver.name)),
    start: async () => {
      const served = drivers.map((driver) => ({
        driver,
        socket: join(sockets, `${driver.socketName}.sock`),
      }));
      const provisioner = await startProvisioner({ ...runtime, api, drivers: served });
      const stop = async (): Promise<void> => {
        running.delete(stop);
        await provisioner.stop();
      };
      running.add(stop);
      return stop;
    },
    claim: (name, spec = {}) =>
      api.create<PersistentVolumeClaim>(resources.persistentVolumeClaims, {
        metadata: { name, namespace: 'bosh' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: '20Mi' } },
          storageClassName: 'loop',
          ...spec,
        },
      }),
    bound: (name) =>
      until(`claim ${name} to be bound`, async () => {
        const { spec, status } = await api.get<PersistentVolumeClaim>(claimAt(name));
        if (status?.phase !== 'Bound') return undefined;
        return await api.get<PersistentVolume>({
          resource: resources.persistentVolumes,
          name: spec.volumeName ?? '',
        });
      }),
    gone: async (resource, name) => {
      await until(`${resource.plural} ${name} to be gone`, async () => !(await exists(api, resource, name)));
    },
    told: async (name, reason, message) => {
      await until(`${reason} about ${name}`, async () => {
        const { items } = await api.list<EventRecord>(resources.events);
        return items.some(
          (event) =>
            event.involvedObject?.name === name &&
            event.reason === reason &&
            message.test(event.message ?? ''),
        );
      });
    },
  };
}

const claimAt = (name: string): { resource: Resource; namespace: string; name: string } => ({
  resource: resources.persistentVolumeClaims,
  namespace: 'bosh',
  name,
});

async function exists(api: KubernetesApi, resource: Resource, name: string): Promise<boolean> {
  try {
    await api.get<KubernetesObject>(
      resource.namespaced ? { resource, namespace: 'bosh', name } : { resource, name },
    );
    return true;
  } catch (error) {
    if (isApiError(error, 404)) return false;
    throw error;
  }
}

test('a claim gets a volume, and its end is the volume’s where the class says so', { skip }, async (t) => {
  const world = await startWorld(t);
  await world.start();
  await world.claim('disk');
  await world.claim('kept', { storageClassName: 'loop-retain' });
  const volume = await world.bound('disk');
  const kept = await world.bound('kept');
  const { name = '' } = volume.metadata;
  assert.deepEqual(volume.spec.csi, { driver: loopDriver.name, volumeHandle: name, fsType: 'ext4' });
  assert.equal(volume.spec.capacity?.['storage'], '20Mi');
  await world.told('disk', 'ProvisioningSucceeded', /pvc-/);
  for (const each of ['disk', 'kept']) await world.api.delete(claimAt(each));
  await world.gone(resources.persistentVolumes, name);
  assert.deepEqual(
    (await world.store.volumes()).map(({ id }) => id),
    [kept.metadata.name],
  );
});

test('a volume in use is not deleted before it is given back', { skip }, async (t) => {
  const world = await startWorld(t);
  await world.start();
  await world.claim('disk');
  const { name = '' } = (await world.bound('disk')).metadata;
  await world.store.addNode('node-1', undefined);
  const volumeCapability = { mount: {}, accessMode: { mode: 'SINGLE_NODE_WRITER' } };
  await world.controller.call('ControllerPublishVolume', {
    volumeId: name,
    nodeId: 'node-1',
    volumeCapability,
  });
  await world.api.delete(claimAt('disk'));
  await world.told(name, 'VolumeFailedDelete', /published to node node-1/);
  assert.ok(await exists(world.api, resources.persistentVolumes, name));
  await world.controller.call('ControllerUnpublishVolume', { volumeId: name, nodeId: 'node-1' });
  await world.gone(resources.persistentVolumes, name);
  assert.deepEqual(await world.store.volumes(), []);
});

test('a claim of a class that waits gets its volume when its node is chosen', { skip }, async (t) => {
  const world = await startWorld(t);
  await world.start();
  await world.claim('waiting', { storageClassName: 'loop-wait' });
  // A later claim is served before the first one, so the first one was not just slow.
  await world.claim('disk');
  await world.bound('disk');
  assert.equal((await world.api.get<PersistentVolumeClaim>(claimAt('waiting'))).spec.volumeName, undefined);
  await world.api.patch(claimAt('waiting'), {
    metadata: { annotations: { 'volume.kubernetes.io/selected-node': 'node-1' } },
  });
  await world.bound('waiting');
});

test('a claim is filled from a snapshot or a claim, or told why it is not', { skip }, async (t) => {
  const world = await startWorld(t);
  await world.start();
  await world.claim('disk');
  const { name: volumeId = '' } = (await world.bound('disk')).metadata;
  await world.claim('clone', { dataSource: { kind: 'PersistentVolumeClaim', name: 'disk' } });
  const clone = await world.bound('clone');
  const { snapshot } = await world.controller.call<{ snapshot: { snapshotId: string; sizeBytes: string } }>(
    'CreateSnapshot',
    { name: 'snapshot-1', sourceVolumeId: volumeId },
  );
  const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' };
  await world.claim('restored', { dataSource });
  await world.told('restored', 'ProvisioningFailed', /VolumeSnapshot bosh\/snap is not ready to use/);
  await writeSnapshot(world.api, snapshot);
  const restored = await world.bound('restored');
  const sources = new Map((await world.store.volumes()).map(({ id, source }) => [id, source]));
  assert.deepEqual(sources.get(clone.metadata.name ?? ''), { kind: 'volume', id: volumeId });
  assert.deepEqual(sources.get(restored.metadata.name ?? ''), { kind: 'snapshot', id: 'snapshot-1' });
  await world.claim('other', { storageClassName: 'loop-plain', dataSource });
  await world.told('other', 'ProvisioningFailed', /is of driver loop/);
  await world.claim('small', { dataSource, resources: { requests: { storage: '1Mi' } } });
  await world.told('small', 'ProvisioningFailed', /is larger than the claim/);
  await world.claim('shared', { accessModes: ['ReadWriteMany'] });
  await world.told('shared', 'ProvisioningFailed', /MULTI_NODE_MULTI_WRITER is not supported/);
});

/** Writes the objects that the snapshot controller and csi-snapshotter create. */
async function writeSnapshot(
  api: KubernetesApi,
  { snapshotId, sizeBytes }: { readonly snapshotId: string; readonly sizeBytes: string },
): Promise<void> {
  const reference = { namespace: 'bosh', name: 'snap' };
  await api.create<VolumeSnapshotContent>(resources.volumeSnapshotContents, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name: 'content' },
    spec: {
      deletionPolicy: 'Retain',
      driver: loopDriver.name,
      source: { snapshotHandle: snapshotId },
      volumeSnapshotRef: reference,
    },
  });
  await api.patch(
    { resource: resources.volumeSnapshotContents, name: 'content' },
    { status: { snapshotHandle: snapshotId, readyToUse: true, restoreSize: Number(sizeBytes) } },
    { subresource: 'status' },
  );
  await api.create<VolumeSnapshot>(resources.volumeSnapshots, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: reference,
    spec: { source: { persistentVolumeClaimName: 'disk' } },
  });
  await api.patch(
    { resource: resources.volumeSnapshots, ...reference },
    { status: { boundVolumeSnapshotContentName: 'content', readyToUse: true } },
    { subresource: 'status' },
  );
}

test('a provisioner that was away goes on where it stopped', { skip }, async (t) => {
  const world = await startWorld(t);
  await world.claim('disk');
  // A previous process created the volume and ended before it wrote the object.
  const { uid = '' } = (await world.api.get<PersistentVolumeClaim>(claimAt('disk'))).metadata;
  await world.controller.call('CreateVolume', {
    name: `pvc-${uid}`,
    capacityRange: { requiredBytes: String(20 * 1024 * 1024) },
    volumeCapabilities: [{ mount: {}, accessMode: { mode: 'SINGLE_NODE_WRITER' } }],
  });
  const stop = await world.start();
  await world.bound('disk');
  assert.equal((await world.store.volumes()).length, 1);
  await stop();
  await world.api.delete(claimAt('disk'));
  await world.gone(resources.persistentVolumeClaims, 'disk');
  // The volume is deleted at the driver, but its object is not.
  await world.controller.call('DeleteVolume', { volumeId: `pvc-${uid}` });
  await world.start();
  await world.gone(resources.persistentVolumes, `pvc-${uid}`);
});
