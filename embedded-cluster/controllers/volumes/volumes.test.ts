import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { persistentVolumeClaims, persistentVolumes, pods } from '../../../src/kubernetes/resources.ts';
import type { PersistentVolume } from '../../../src/kubernetes/types/storage.ts';
import { at, makePod, settled, startCluster } from '../testing/cluster-fixture.ts';
import { bound, claim, createImmediateClass, finish, untilDeleted } from './testing/claims.ts';

const consumer = makePod('attach', {
  volumes: [{ name: 'disk', persistentVolumeClaim: { claimName: 'disk-1' } }],
});

suite('the volume of a claim', () => {
  test('waits for the first consumer, and then gets a node', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(persistentVolumeClaims, claim('disk-1'));
    await cluster.until('the news', async () =>
      (await cluster.reasons('disk-1')).includes('WaitForFirstConsumer'),
    );
    assert.equal(cluster.provisioner.volumes.size, 0);

    await cluster.api.create(pods, consumer);
    const disk = await bound(cluster, 'disk-1');
    const pod = await cluster.until('the pod to have a node', async () => {
      const found = await cluster.find<Pod>(at(pods, 'attach'));
      return found?.spec.nodeName === undefined ? undefined : found;
    });

    assert.equal(pod.spec.nodeName, 'embedded');
    assert.equal(disk.metadata.annotations?.['volume.kubernetes.io/selected-node'], 'embedded');
    assert.equal(disk.metadata.annotations['pv.kubernetes.io/bind-completed'], 'yes');
    const name = `pvc-${disk.metadata.uid ?? ''}`;
    assert.equal(disk.spec.volumeName, name);
    const volume = await cluster.until('the volume to be Bound', async () => {
      const found = await cluster.find<PersistentVolume>(at(persistentVolumes, name));
      return found?.status?.phase === 'Bound' ? found : undefined;
    });
    assert.equal(volume.spec.hostPath?.path, `/cluster/volumes/${name}`);
    assert.equal(volume.spec.claimRef?.uid, disk.metadata.uid);
    assert.equal(
      volume.metadata.annotations?.['pv.kubernetes.io/provisioned-by'],
      'bosh-kubernetes.io/local',
    );
    assert.deepEqual(disk.status?.capacity, { storage: '64Mi' });
    assert.deepEqual(cluster.errors, []);
  });

  test('is deleted with its directory when the last pod of a deleted claim is deleted', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(persistentVolumeClaims, claim('disk-1'));
    await cluster.api.create(pods, consumer);
    const disk = await bound(cluster, 'disk-1');
    await cluster.until('the node', async () => (await cluster.find<Pod>(at(pods, 'attach')))?.spec.nodeName);

    await cluster.api.delete(at(persistentVolumeClaims, 'disk-1'));
    await settled();
    const waiting = await cluster.find(at(persistentVolumeClaims, 'disk-1'));
    assert.deepEqual(waiting?.metadata.finalizers, ['kubernetes.io/pvc-protection']);
    assert.equal(cluster.provisioner.volumes.size, 1);

    await cluster.api.delete(at(pods, 'attach'));
    await settled();
    assert.notEqual(await cluster.find(at(persistentVolumeClaims, 'disk-1')), undefined);

    await finish(cluster, 'attach');
    await untilDeleted(cluster, persistentVolumeClaims, 'disk-1');
    await untilDeleted(cluster, persistentVolumes, disk.spec.volumeName ?? '');
    assert.equal(cluster.provisioner.volumes.size, 0);
  });

  test('stays Released with an event while it is still in use', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(persistentVolumeClaims, claim('disk-1'));
    await cluster.api.create(pods, consumer);
    const name = (await bound(cluster, 'disk-1')).spec.volumeName ?? '';
    cluster.provisioner.busy.add(name);
    await cluster.api.delete(at(pods, 'attach'));
    await finish(cluster, 'attach');
    await cluster.api.delete(at(persistentVolumeClaims, 'disk-1'));

    await cluster.until('the event', async () =>
      (await cluster.reasons(name)).includes('VolumeFailedDelete'),
    );
    const volume = await cluster.find<PersistentVolume>(at(persistentVolumes, name));
    assert.equal(volume?.status?.phase, 'Released');
    assert.ok(cluster.provisioner.volumes.has(name));
    assert.ok(cluster.errors.length > 0);

    cluster.provisioner.busy.clear();
    await untilDeleted(cluster, persistentVolumes, name);
    assert.equal(cluster.provisioner.volumes.size, 0);
  });

  test('is kept with its directory under the policy Retain', async (t) => {
    const cluster = await startCluster(t);
    await createImmediateClass(cluster, 'Retain');
    await cluster.api.create(persistentVolumeClaims, claim('disk-1', { storageClassName: 'immediate' }));
    const name = (await bound(cluster, 'disk-1')).spec.volumeName ?? '';
    await cluster.api.delete(at(persistentVolumeClaims, 'disk-1'));
    await cluster.until('Released', async () => {
      const found = await cluster.find<PersistentVolume>(at(persistentVolumes, name));
      return found?.status?.phase === 'Released';
    });

    await cluster.api.delete(at(persistentVolumes, name));
    await untilDeleted(cluster, persistentVolumes, name);
    assert.ok(cluster.provisioner.volumes.has(name));
  });

  test('is kept after its own deletion until its claim is deleted', async (t) => {
    const cluster = await startCluster(t);
    await createImmediateClass(cluster, 'Delete');
    await cluster.api.create(persistentVolumeClaims, claim('disk-1', { storageClassName: 'immediate' }));
    const name = (await bound(cluster, 'disk-1')).spec.volumeName ?? '';

    await cluster.api.delete(at(persistentVolumes, name));
    await settled();
    assert.ok(cluster.provisioner.volumes.has(name));
    assert.notEqual(await cluster.find(at(persistentVolumes, name)), undefined);

    await cluster.api.delete(at(persistentVolumeClaims, 'disk-1'));
    await untilDeleted(cluster, persistentVolumes, name);
    assert.equal(cluster.provisioner.volumes.size, 0);
  });

  test('is bound after stops of the controllers at any point', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(persistentVolumeClaims, claim('disk-1'));
    await cluster.api.create(pods, consumer);
    for (let lives = 0; lives < 5; lives += 1) {
      await cluster.restart();
    }

    await bound(cluster, 'disk-1');
    await cluster.until('the node', async () => (await cluster.find<Pod>(at(pods, 'attach')))?.spec.nodeName);
    assert.equal(cluster.provisioner.volumes.size, 1);
  });
});
