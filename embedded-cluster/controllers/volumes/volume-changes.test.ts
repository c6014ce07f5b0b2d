import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  volumeAttributesClasses,
} from '../../../src/kubernetes/resources.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  VolumeAttributesClass,
} from '../../../src/kubernetes/types/storage.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { type ClusterFixture, at, makePod, settled, startCluster } from '../testing/cluster-fixture.ts';

function claim(name: string, spec: Partial<PersistentVolumeClaim['spec']> = {}): PersistentVolumeClaim {
  return {
    metadata: { name, namespace: 'bosh' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '64Mi' } },
      storageClassName: 'immediate',
      ...spec,
    },
  };
}

const cloneOf = (name: string): Partial<PersistentVolumeClaim['spec']> => ({
  dataSource: { kind: 'PersistentVolumeClaim', name },
});

async function createImmediateClass(cluster: ClusterFixture): Promise<void> {
  const storageClass: StorageClass = {
    metadata: { name: 'immediate' },
    provisioner: localProvisioner,
    volumeBindingMode: 'Immediate',
    allowVolumeExpansion: true,
  };
  await cluster.api.create(storageClasses, storageClass);
}

async function createAttributesClass(
  cluster: ClusterFixture,
  name: string,
  parameters: Record<string, string>,
): Promise<void> {
  const attributesClass: VolumeAttributesClass = {
    metadata: { name },
    driverName: localProvisioner,
    parameters,
  };
  await cluster.api.create(volumeAttributesClasses, attributesClass);
}

function when(
  cluster: ClusterFixture,
  name: string,
  what: string,
  condition: (claim: PersistentVolumeClaim) => boolean,
): Promise<PersistentVolumeClaim> {
  return cluster.until(`claim ${name} ${what}`, async () => {
    const found = await cluster.find<PersistentVolumeClaim>(at(persistentVolumeClaims, name));
    return found !== undefined && condition(found) ? found : undefined;
  });
}

const bound = (cluster: ClusterFixture, name: string): Promise<PersistentVolumeClaim> =>
  when(cluster, name, 'to be bound', ({ status }) => status?.phase === 'Bound');

suite('a change of volumes', () => {
  test('grows a bound claim, its volume and its status', async (t) => {
    const cluster = await startCluster(t);
    await createImmediateClass(cluster);
    await cluster.api.create(persistentVolumeClaims, claim('disk-1'));
    const { spec } = await bound(cluster, 'disk-1');
    const grow = { spec: { resources: { requests: { storage: '128Mi' } } } };
    await cluster.api.patch(at(persistentVolumeClaims, 'disk-1'), grow);
    await when(cluster, 'disk-1', 'to have grown', ({ status }) => status?.capacity?.['storage'] === '128Mi');
    const volume = await cluster.find<PersistentVolume>(at(persistentVolumes, spec.volumeName ?? ''));
    assert.equal(volume?.spec.capacity?.['storage'], '128Mi');
    assert.ok((await cluster.reasons('disk-1')).includes('VolumeResizeSuccessful'));
  });

  test('copies a claim as a clone, and keeps the source until the clone is bound', async (t) => {
    const cluster = await startCluster(t);
    await createImmediateClass(cluster);
    await cluster.api.create(persistentVolumeClaims, claim('disk-1'));
    await bound(cluster, 'disk-1');
    cluster.provisioner.broken = true;
    await cluster.api.create(persistentVolumeClaims, claim('disk-2', cloneOf('disk-1')));
    await cluster.until('the failure', async () =>
      (await cluster.reasons('disk-2')).includes('ProvisioningFailed'),
    );
    await cluster.api.delete(at(persistentVolumeClaims, 'disk-1'));
    await settled();
    const unchanged = await cluster.find(at(persistentVolumeClaims, 'disk-1'));
    assert.deepEqual(unchanged?.metadata.finalizers, [
      'provisioner.storage.kubernetes.io/cloning-protection',
    ]);
  });

  test('allows the deletion of the source when the clone is bound', async (t) => {
    const cluster = await startCluster(t);
    await createImmediateClass(cluster);
    await cluster.api.create(persistentVolumeClaims, claim('disk-1'));
    const source = await bound(cluster, 'disk-1');
    await cluster.api.create(persistentVolumeClaims, claim('disk-2', cloneOf('disk-1')));
    const clone = await bound(cluster, 'disk-2');
    assert.equal(cluster.provisioner.sources.get(clone.spec.volumeName ?? ''), source.spec.volumeName);
    await cluster.api.delete(at(persistentVolumeClaims, 'disk-1'));
    await cluster.until('the source to go', async () => {
      const volumes = await cluster.api.list<PersistentVolume>(persistentVolumes);
      return volumes.items.length === 1;
    });
    assert.deepEqual([...cluster.provisioner.volumes], [clone.spec.volumeName]);
  });

  test('lets a clone wait for its first consumer, and gives it neither an empty nor a smaller volume', async (t) => {
    const cluster = await startCluster(t);
    await createImmediateClass(cluster);
    await cluster.api.create(persistentVolumeClaims, claim('disk-1'));
    await bound(cluster, 'disk-1');
    await cluster.api.create(persistentVolumes, {
      metadata: { name: 'free' },
      spec: {
        capacity: { storage: '64Mi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'immediate',
        hostPath: { path: '/free' },
      },
    });
    const small = { resources: { requests: { storage: '63Mi' } } };
    await cluster.api.create(persistentVolumeClaims, claim('small', { ...cloneOf('disk-1'), ...small }));
    await cluster.until('the refusal', async () =>
      (await cluster.reasons('small')).includes('ProvisioningFailed'),
    );
    const later = claim('later', { ...cloneOf('disk-1'), storageClassName: 'local' });
    await cluster.api.create(persistentVolumeClaims, later);
    await cluster.until('the news', async () =>
      (await cluster.reasons('later')).includes('WaitForFirstConsumer'),
    );
    const volumes = [{ name: 'disk', persistentVolumeClaim: { claimName: 'later' } }];
    await cluster.api.create(pods, makePod('consumer', { volumes }));
    const { spec } = await bound(cluster, 'later');
    assert.ok(cluster.provisioner.sources.has(spec.volumeName ?? ''));
  });

  test('applies another VolumeAttributesClass, and reports an impossible one, which can be reverted', async (t) => {
    const cluster = await startCluster(t);
    await createImmediateClass(cluster);
    await createAttributesClass(cluster, 'open', { permissions: '0755' });
    await createAttributesClass(cluster, 'fast', { iops: '3000' });
    const reference = at(persistentVolumeClaims, 'disk-1');
    await cluster.api.create(persistentVolumeClaims, claim('disk-1', { volumeAttributesClassName: 'open' }));
    const { spec, status } = await bound(cluster, 'disk-1');
    assert.equal(status?.currentVolumeAttributesClassName, 'open');
    assert.deepEqual(cluster.provisioner.modified.get(spec.volumeName ?? ''), { permissions: '0755' });

    await cluster.api.patch(reference, { spec: { volumeAttributesClassName: 'fast' } });
    const stuck = await when(
      cluster,
      'disk-1',
      'to be infeasible',
      ({ status: now }) => now?.modifyVolumeStatus?.status === 'Infeasible',
    );
    assert.equal(stuck.status?.currentVolumeAttributesClassName, 'open');
    assert.deepEqual(
      stuck.status?.conditions?.map(({ type, reason, message }) => [type, reason, message]),
      [
        ['ModifyingVolume', undefined, 'Modifying volume to "fast" failed. Waiting for retry.'],
        ['ModifyVolumeError', 'InvalidArgument', 'bosh-kubernetes.io/local cannot do iops=3000'],
      ],
      'who waits for the refusal has its reason at once, events or not',
    );
    // The format of metav1.Time.
    for (const { lastProbeTime } of stuck.status.conditions ?? [])
      assert.match(lastProbeTime ?? '', /T\d\d:\d\d:\d\dZ$/);
    await cluster.api.patch(reference, { spec: { volumeAttributesClassName: 'open' } });
    const back = await when(
      cluster,
      'disk-1',
      'to be back',
      ({ status: now }) => now?.modifyVolumeStatus === undefined,
    );
    assert.deepEqual(back.status?.conditions ?? [], []);

    await cluster.api.patch(reference, { spec: { volumeAttributesClassName: 'closed' } });
    await when(
      cluster,
      'disk-1',
      'to wait for its class',
      ({ status: now }) => now?.modifyVolumeStatus?.status === 'Pending',
    );
    await createAttributesClass(cluster, 'closed', { permissions: '0700' });
    await when(
      cluster,
      'disk-1',
      'to be modified',
      ({ status: now }) =>
        now?.currentVolumeAttributesClassName === 'closed' && now.modifyVolumeStatus === undefined,
    );
    assert.deepEqual(cluster.provisioner.modified.get(spec.volumeName ?? ''), { permissions: '0700' });
  });
});
