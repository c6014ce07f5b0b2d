import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Pod } from '../../../kubernetes/pod.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
} from '../../../kubernetes/resources.ts';
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../../kubernetes/volume.ts';
import { localProvisioner } from './binding-decision.ts';
import type { ClusterFixture } from '../testing/cluster-fixture.ts';
import { at, makePod, settled, startCluster } from '../testing/cluster-fixture.ts';

function claim(name: string, spec: Partial<PersistentVolumeClaim['spec']> = {}): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'bosh' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '64Mi' } },
      storageClassName: 'local',
      ...spec,
    },
  };
}

const using = (name: string, claimName: string): Pod =>
  makePod(name, { volumes: [{ name: 'disk', persistentVolumeClaim: { claimName } }] });

async function createImmediateClass(
  cluster: ClusterFixture,
  reclaimPolicy: 'Delete' | 'Retain',
): Promise<void> {
  const storageClass: StorageClass = {
    metadata: { name: 'immediate' },
    provisioner: localProvisioner,
    volumeBindingMode: 'Immediate',
    reclaimPolicy,
  };
  await cluster.api.create(storageClasses, storageClass);
}

function bound(cluster: ClusterFixture, name: string): Promise<PersistentVolumeClaim> {
  return cluster.until(`claim ${name} to be bound`, async () => {
    const found = await cluster.find<PersistentVolumeClaim>(at(persistentVolumeClaims, name));
    return found?.status?.phase === 'Bound' ? found : undefined;
  });
}

const gone = (cluster: ClusterFixture, resource: typeof pods, name: string): Promise<true> =>
  cluster.until(
    `${resource.plural} ${name} to go`,
    async () => (await cluster.find(at(resource, name))) === undefined,
  );

/** What the node does when the containers of a deleted pod have ended. */
const finish = (cluster: ClusterFixture, name: string): Promise<void> =>
  cluster.api.delete(at(pods, name), { gracePeriodSeconds: 0 });

suite('volumes', () => {
  test('a claim waits for its first consumer, which then gets volume and node', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(persistentVolumeClaims, claim('disk-1'));
    await cluster.until('the news', async () =>
      (await cluster.reasons('disk-1')).includes('WaitForFirstConsumer'),
    );
    assert.equal(cluster.provisioner.volumes.size, 0);

    await cluster.api.create(pods, using('attach', 'disk-1'));
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

  test('a claim in use is deleted when its last pod is gone, and its directory with it', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(persistentVolumeClaims, claim('disk-1'));
    await cluster.api.create(pods, using('attach', 'disk-1'));
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
    await gone(cluster, persistentVolumeClaims, 'disk-1');
    await gone(cluster, persistentVolumes, disk.spec.volumeName ?? '');
    assert.equal(cluster.provisioner.volumes.size, 0);
  });

  test('a volume that is still used stays Released, with an event, until it is free', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(persistentVolumeClaims, claim('disk-1'));
    await cluster.api.create(pods, using('attach', 'disk-1'));
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
    await gone(cluster, persistentVolumes, name);
    assert.equal(cluster.provisioner.volumes.size, 0);
  });

  test('Retain keeps volume and directory', async (t) => {
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
    await gone(cluster, persistentVolumes, name);
    assert.ok(cluster.provisioner.volumes.has(name));
  });

  test('a bound volume that somebody deletes stays until its claim is gone', async (t) => {
    const cluster = await startCluster(t);
    await createImmediateClass(cluster, 'Delete');
    await cluster.api.create(persistentVolumeClaims, claim('disk-1', { storageClassName: 'immediate' }));
    const name = (await bound(cluster, 'disk-1')).spec.volumeName ?? '';

    await cluster.api.delete(at(persistentVolumes, name));
    await settled();
    assert.ok(cluster.provisioner.volumes.has(name));
    assert.notEqual(await cluster.find(at(persistentVolumes, name)), undefined);

    await cluster.api.delete(at(persistentVolumeClaims, 'disk-1'));
    await gone(cluster, persistentVolumes, name);
    assert.equal(cluster.provisioner.volumes.size, 0);
  });

  test('a claim without a class gets the default one, and one with the empty class a static volume', async (t) => {
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

  test('a provisioner that fails is reported on the claim and tried again', async (t) => {
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

  test('a claim whose volume is lost says so', async (t) => {
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

  test('a generic ephemeral volume has a claim of its own, which goes with the pod', async (t) => {
    const cluster = await startCluster(t);
    const template = { metadata: { labels: { a: 'b' } }, spec: claim('x').spec };
    await cluster.api.create(
      pods,
      makePod('vm-1', { volumes: [{ name: 'data', ephemeral: { volumeClaimTemplate: template } }] }),
    );

    const data = await bound(cluster, 'vm-1-data');
    assert.equal(data.metadata.labels?.['a'], 'b');
    assert.equal(data.metadata.ownerReferences?.[0]?.kind, 'Pod');
    await cluster.until('the node', async () => (await cluster.find<Pod>(at(pods, 'vm-1')))?.spec.nodeName);

    await finish(cluster, 'vm-1');
    await gone(cluster, persistentVolumeClaims, 'vm-1-data');
    await gone(cluster, persistentVolumes, data.spec.volumeName ?? '');
  });

  test("another's claim of that name is not taken for an ephemeral volume", async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(persistentVolumeClaims, claim('vm-1-data'));
    await cluster.api.create(
      pods,
      makePod('vm-1', {
        volumes: [{ name: 'data', ephemeral: { volumeClaimTemplate: { spec: claim('x').spec } } }],
      }),
    );

    await cluster.until('the event', async () => (await cluster.reasons('vm-1')).includes('FailedBinding'));
    await settled();
    assert.equal((await cluster.find<Pod>(at(pods, 'vm-1')))?.spec.nodeName, undefined);
  });

  test('controllers that were stopped anywhere go on where they were', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(persistentVolumeClaims, claim('disk-1'));
    await cluster.api.create(pods, using('attach', 'disk-1'));
    for (let lives = 0; lives < 5; lives += 1) {
      await cluster.restart();
    }

    await bound(cluster, 'disk-1');
    await cluster.until('the node', async () => (await cluster.find<Pod>(at(pods, 'attach')))?.spec.nodeName);
    assert.equal(cluster.provisioner.volumes.size, 1);
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

  test('leaves the claim to it, binds what it makes, and leaves the deletion to it too', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(storageClasses, storageClass);
    await cluster.api.create(persistentVolumeClaims, claim('disk', { storageClassName: 'theirs' }));
    const theirs = await cluster.until('the claim to be handed over', async () => {
      const found = await cluster.find<PersistentVolumeClaim>(at(persistentVolumeClaims, 'disk'));
      return (
        found?.metadata.annotations?.['volume.kubernetes.io/storage-provisioner'] === 'driver.example' &&
        found
      );
    });
    await cluster.api.create(persistentVolumes, volume(theirs.metadata.uid ?? ''));
    await bound(cluster, 'disk');
    await cluster.api.delete(at(persistentVolumeClaims, 'disk'));
    await gone(cluster, persistentVolumeClaims, 'disk');
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
