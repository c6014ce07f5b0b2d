import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '../../../src/kubernetes/resources.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../../src/kubernetes/types/storage.ts';
import { at, settled, startCluster } from '../testing/cluster-fixture.ts';
import { bound, claim, createImmediateClass, untilDeleted } from './testing/claims.ts';

suite('the claim binder', () => {
  test('gives the default class to a claim without a class, and a static volume to one with the empty class', async (t) => {
    const cluster = await startCluster(t);
    const { storageClassName: _, ...spec } = claim('any').spec;
    await cluster.api.create(persistentVolumeClaims, { ...claim('any'), spec });
    await cluster.api.create(persistentVolumeClaims, claim('static', { storageClassName: '' }));
    await cluster.until('the news', async () => (await cluster.reasons('static')).includes('FailedBinding'));
    await cluster.until('the default class', async () => {
      const found = await cluster.find<PersistentVolumeClaim>(at(persistentVolumeClaims, 'any'));
      return found?.spec.storageClassName === 'local';
    });
    const volume: PersistentVolume = {
      metadata: { name: 'mine' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: '',
        hostPath: { path: '/somewhere' },
      },
    };
    await cluster.api.create(persistentVolumes, volume);

    const found = await bound(cluster, 'static');

    assert.equal(found.spec.volumeName, 'mine');
    assert.deepEqual(found.status?.capacity, { storage: '1Gi' });
  });

  test('reports a failing provisioner on the claim and retries', async (t) => {
    const cluster = await startCluster(t);
    await createImmediateClass(cluster, 'Delete');
    cluster.provisioner.broken = true;
    await cluster.api.create(persistentVolumeClaims, claim('disk-1', { storageClassName: 'immediate' }));
    await cluster.api.create(persistentVolumeClaims, claim('disk-2', { storageClassName: 'nowhere' }));
    await cluster.until('the event', async () =>
      (await cluster.reasons('disk-1')).includes('ProvisioningFailed'),
    );
    await cluster.until('the event', async () =>
      (await cluster.reasons('disk-2')).includes('ProvisioningFailed'),
    );

    cluster.provisioner.broken = false;

    await bound(cluster, 'disk-1');
  });

  test('reports a claim whose volume is lost', async (t) => {
    const cluster = await startCluster(t);
    await createImmediateClass(cluster, 'Delete');
    await cluster.api.create(persistentVolumeClaims, claim('disk-1', { storageClassName: 'immediate' }));
    const name = (await bound(cluster, 'disk-1')).spec.volumeName ?? '';
    await cluster.api.delete(at(persistentVolumes, name));
    await cluster.api.patch(at(persistentVolumes, name), { metadata: { finalizers: null } });

    await cluster.until('the phase Lost', async () => {
      const found = await cluster.find<PersistentVolumeClaim>(at(persistentVolumeClaims, 'disk-1'));
      return found?.status?.phase === 'Lost';
    });
    await cluster.until('the event', async () => (await cluster.reasons('disk-1')).includes('ClaimLost'));
  });
});

suite('a class of another provisioner', () => {
  const storageClass: StorageClass = {
    metadata: { name: 'theirs' },
    provisioner: 'driver.example',
    reclaimPolicy: 'Delete',
  };
  const volume = (uid: string): PersistentVolume => ({
    metadata: {
      name: 'theirs',
      annotations: { 'pv.kubernetes.io/provisioned-by': 'driver.example' },
      finalizers: ['example/hold'],
    },
    spec: {
      capacity: { storage: '64Mi' },
      accessModes: ['ReadWriteOnce'],
      claimRef: { namespace: 'bosh', name: 'disk', uid },
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: 'theirs',
      csi: { driver: 'driver.example', volumeHandle: 'theirs' },
    },
  });

  test('gets its claims and their deletion, and its volumes are bound', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(storageClasses, storageClass);
    await cluster.api.create(persistentVolumeClaims, claim('disk', { storageClassName: 'theirs' }));
    const handedOver = await cluster.until('the claim to be handed over', async () => {
      const found = await cluster.find<PersistentVolumeClaim>(at(persistentVolumeClaims, 'disk'));
      return (
        found?.metadata.annotations?.['volume.kubernetes.io/storage-provisioner'] === 'driver.example' &&
        found
      );
    });
    await cluster.api.create(persistentVolumes, volume(handedOver.metadata.uid ?? ''));
    await bound(cluster, 'disk');
    await cluster.api.delete(at(persistentVolumeClaims, 'disk'));
    await untilDeleted(cluster, persistentVolumeClaims, 'disk');
    await cluster.until('the volume to be released', async () => {
      const found = await cluster.find<PersistentVolume>(at(persistentVolumes, 'theirs'));
      return found?.status?.phase === 'Released';
    });
    await settled();
    const released = await cluster.find<PersistentVolume>(at(persistentVolumes, 'theirs'));
    assert.equal(released?.status?.phase, 'Released');
    assert.equal(released?.metadata.deletionTimestamp, undefined);
  });
});
