import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import {
  persistentVolumeClaims,
  storageClasses,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../../src/kubernetes/resources.ts';
import type {
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
  PersistentVolumeClaim,
  StorageClass,
} from '../../../src/kubernetes/types/storage.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { type ClusterFixture, at, settled, startCluster } from '../testing/cluster-fixture.ts';

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

const restoreOf = (name: string): Partial<PersistentVolumeClaim['spec']> => ({
  dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name },
});

function snapshotOf(claimName: string, name: string, className?: string): VolumeSnapshot {
  return {
    metadata: { name, namespace: 'bosh' },
    spec: {
      source: { persistentVolumeClaimName: claimName },
      ...(className !== undefined && { volumeSnapshotClassName: className }),
    },
  };
}

/** Starts a cluster with the bound claim `disk-1`. */
async function withDisk(t: TestContext): Promise<ClusterFixture> {
  const cluster = await startCluster(t);
  const storageClass: StorageClass = {
    metadata: { name: 'immediate' },
    provisioner: localProvisioner,
    volumeBindingMode: 'Immediate',
  };
  await cluster.api.create(storageClasses, storageClass);
  await cluster.api.create(persistentVolumeClaims, claim('disk-1'));
  await bound(cluster, 'disk-1');
  return cluster;
}

const bound = (cluster: ClusterFixture, name: string): Promise<PersistentVolumeClaim> =>
  cluster.until(`claim ${name} to be bound`, async () => {
    const found = await cluster.find<PersistentVolumeClaim>(at(persistentVolumeClaims, name));
    return found?.status?.phase === 'Bound' ? found : undefined;
  });

const when = (
  cluster: ClusterFixture,
  name: string,
  condition: (snapshot: VolumeSnapshot) => boolean,
): Promise<VolumeSnapshot> =>
  cluster.until(`snapshot ${name}`, async () => {
    const found = await cluster.find<VolumeSnapshot>(at(volumeSnapshots, name));
    return found !== undefined && condition(found) ? found : undefined;
  });

const ready = (cluster: ClusterFixture, name: string): Promise<VolumeSnapshot> =>
  when(cluster, name, ({ status }) => status?.readyToUse === true);

const untilDeleted = (cluster: ClusterFixture, name: string): Promise<true> =>
  cluster.until(
    `snapshot ${name} to go`,
    async () => (await cluster.find(at(volumeSnapshots, name))) === undefined,
  );

suite('a snapshot', () => {
  test('becomes ready with the default class, outlives its claim and is restored', async (t) => {
    const cluster = await withDisk(t);
    await cluster.api.create(volumeSnapshots, snapshotOf('disk-1', 'snap-1'));
    const { status, spec } = await ready(cluster, 'snap-1');
    assert.equal(spec.volumeSnapshotClassName, 'local');
    assert.equal(status?.restoreSize, '64Mi');
    assert.match(status.creationTime ?? '', /^\d{4}-/u);

    await cluster.api.delete(at(persistentVolumeClaims, 'disk-1'));
    await cluster.until('the claim to go', async () => {
      return (await cluster.find(at(persistentVolumeClaims, 'disk-1'))) === undefined;
    });
    await cluster.api.create(persistentVolumeClaims, claim('disk-2', restoreOf('snap-1')));
    const restored = await bound(cluster, 'disk-2');
    const [handle] = cluster.provisioner.snapshots;
    assert.equal(cluster.provisioner.sources.get(restored.spec.volumeName ?? ''), handle);

    await cluster.api.delete(at(volumeSnapshots, 'snap-1'));
    await untilDeleted(cluster, 'snap-1');
    assert.equal(cluster.provisioner.snapshots.size, 0);
    assert.equal((await cluster.api.list(volumeSnapshotContents)).items.length, 0);
  });

  test('of a busy volume fails with an error, keeps its claim and is retried', async (t) => {
    const cluster = await withDisk(t);
    const { spec } = await bound(cluster, 'disk-1');
    cluster.provisioner.busy.add(spec.volumeName ?? '');
    await cluster.api.create(volumeSnapshots, snapshotOf('disk-1', 'snap-1'));
    const failed = await when(cluster, 'snap-1', ({ status }) => status?.error !== undefined);
    assert.match(failed.status?.error?.message ?? '', /writes to it/u);
    assert.equal(failed.status?.readyToUse, false);
    await cluster.api.delete(at(persistentVolumeClaims, 'disk-1'));
    await settled();
    const finalizedClaim = await cluster.find(at(persistentVolumeClaims, 'disk-1'));
    assert.deepEqual(finalizedClaim?.metadata.finalizers, [
      'snapshot.storage.kubernetes.io/pvc-as-source-protection',
    ]);

    cluster.provisioner.busy.clear();
    const { status } = await ready(cluster, 'snap-1');
    assert.equal(status?.error, undefined);
    await cluster.until('the claim to go', async () => {
      return (await cluster.find(at(persistentVolumeClaims, 'disk-1'))) === undefined;
    });
  });

  test('stays while a claim is restored from it', async (t) => {
    const cluster = await withDisk(t);
    await cluster.api.create(volumeSnapshots, snapshotOf('disk-1', 'snap-1'));
    await ready(cluster, 'snap-1');
    cluster.provisioner.broken = true;
    await cluster.api.create(persistentVolumeClaims, claim('disk-2', restoreOf('snap-1')));
    await cluster.until('the failure', async () =>
      (await cluster.reasons('disk-2')).includes('ProvisioningFailed'),
    );
    await cluster.api.delete(at(volumeSnapshots, 'snap-1'));
    await settled();
    assert.equal(cluster.provisioner.snapshots.size, 1);
    await cluster.api.delete(at(persistentVolumeClaims, 'disk-2'));
    await untilDeleted(cluster, 'snap-1');
    assert.equal(cluster.provisioner.snapshots.size, 0);
  });

  test('with policy Retain keeps its content and data', async (t) => {
    const cluster = await withDisk(t);
    const kept: VolumeSnapshotClass = {
      metadata: { name: 'kept' },
      driver: localProvisioner,
      deletionPolicy: 'Retain',
    };
    await cluster.api.create(volumeSnapshotClasses, kept);
    await cluster.api.create(volumeSnapshots, snapshotOf('disk-1', 'snap-1', 'kept'));
    await ready(cluster, 'snap-1');
    await cluster.api.delete(at(volumeSnapshots, 'snap-1'));
    await untilDeleted(cluster, 'snap-1');
    const { items } = await cluster.api.list<VolumeSnapshotContent>(volumeSnapshotContents);
    assert.equal(items[0]?.spec.deletionPolicy, 'Retain');
    assert.equal(cluster.provisioner.snapshots.size, 1);
  });

  test('reports in its status a missing claim, a missing class and an unbound claim', async (t) => {
    const cluster = await withDisk(t);
    await cluster.api.create(persistentVolumeClaims, claim('unbound', { storageClassName: 'local' }));
    const cases: [string, VolumeSnapshot, RegExp][] = [
      ['a', snapshotOf('nothing', 'a'), /PVC nothing not found/u],
      ['b', snapshotOf('unbound', 'b'), /not yet bound/u],
      ['c', snapshotOf('disk-1', 'c', 'none'), /snapshot class none: not found/u],
    ];
    for (const [name, snapshot, message] of cases) {
      await cluster.api.create(volumeSnapshots, snapshot);
      const { status } = await when(cluster, name, (now) => now.status?.error !== undefined);
      assert.match(status?.error?.message ?? '', message);
      await cluster.api.delete(at(volumeSnapshots, name));
      await untilDeleted(cluster, name);
    }
  });
});
