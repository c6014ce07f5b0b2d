import assert from 'node:assert/strict';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttributesClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/kubernetes/resources.ts';
import type {
  VolumeSnapshot,
  PersistentVolumeClaim,
  VolumeAttributesClass,
} from '../../src/kubernetes/types/storage.ts';
import { type ClusterFixture, at, makePod } from './testing/cluster-fixture.ts';
import { type Until, testEachCrash } from './testing/test-each-crash.ts';

const spec: PersistentVolumeClaim['spec'] = {
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '64Mi' } },
};

/** A disk is expanded, modified, snapshotted, restored and cloned, and then everything is deleted. */
async function changeAndCopy(cluster: ClusterFixture, until: Until): Promise<void> {
  const attributes: VolumeAttributesClass = {
    metadata: { name: 'open' },
    driverName: 'bosh-kubernetes.io/local',
    parameters: { permissions: '0755' },
  };
  await cluster.api.create(volumeAttributesClasses, attributes);
  const bound = async (name: string, more: Partial<PersistentVolumeClaim['spec']>): Promise<void> => {
    const claim: PersistentVolumeClaim = {
      metadata: { name, namespace: 'bosh' },
      spec: { ...spec, ...more },
    };
    await cluster.api.create(persistentVolumeClaims, claim);
    const volumes = [{ name: 'disk', persistentVolumeClaim: { claimName: name } }];
    await cluster.api.create(pods, makePod(`use-${name}`, { volumes }));
    await until(`pod of ${name} to have a node`, async () => {
      return (await cluster.find<Pod>(at(pods, `use-${name}`)))?.spec.nodeName;
    });
    await cluster.api.delete(at(pods, `use-${name}`), { gracePeriodSeconds: 0 });
  };
  await bound('disk-1', {});
  await cluster.api.patch(at(persistentVolumeClaims, 'disk-1'), {
    spec: { volumeAttributesClassName: 'open', resources: { requests: { storage: '128Mi' } } },
  });
  await until('the disk to be changed', async () => {
    const { status } = await cluster.api.get<PersistentVolumeClaim>(at(persistentVolumeClaims, 'disk-1'));
    return status?.capacity?.['storage'] === '128Mi' && status.currentVolumeAttributesClassName === 'open';
  });
  const snapshot: VolumeSnapshot = {
    metadata: { name: 'snap-1', namespace: 'bosh' },
    spec: { source: { persistentVolumeClaimName: 'disk-1' } },
  };
  await cluster.api.create(volumeSnapshots, snapshot);
  await until('the snapshot to be ready', async () => {
    const { status } = await cluster.api.get<VolumeSnapshot>(at(volumeSnapshots, 'snap-1'));
    return status?.readyToUse;
  });
  const resources = { requests: { storage: '128Mi' } };
  const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap-1' };
  await bound('disk-2', { resources, dataSource });
  await bound('disk-3', { resources, dataSource: { kind: 'PersistentVolumeClaim', name: 'disk-1' } });
  assert.equal(cluster.provisioner.sources.size, 3);

  await cluster.api.delete(at(volumeSnapshots, 'snap-1'));
  for (const name of ['disk-1', 'disk-2', 'disk-3']) {
    await cluster.api.delete(at(persistentVolumeClaims, name));
  }
  await until('everything to be gone', async () => {
    const remaining = await Promise.all(
      [persistentVolumeClaims, persistentVolumes, volumeSnapshots, volumeSnapshotContents].map((resource) =>
        cluster.api.list(resource),
      ),
    );
    const { volumes, snapshots } = cluster.provisioner;
    return remaining.every(({ items }) => items.length === 0) && volumes.size + snapshots.size === 0;
  });
}

testEachCrash(changeAndCopy);
