import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  secrets,
  volumeAttributesClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../kubernetes/resources.ts';
import type { VolumeSnapshot } from '../../kubernetes/snapshot.ts';
import type { PersistentVolumeClaim, VolumeAttributesClass } from '../../kubernetes/volume.ts';
import type { ClusterFixture } from './testing/cluster-fixture.ts';
import { at, makePod, startCluster } from './testing/cluster-fixture.ts';
import { Mortality } from './testing/mortal.ts';

const spec: PersistentVolumeClaim['spec'] = {
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '64Mi' } },
};

type Until = (what: string, condition: () => Promise<unknown>) => Promise<unknown>;

/** Waits, and begins the next life where one has ended. */
const reviving =
  (cluster: ClusterFixture, mortality: Mortality): Until =>
  (what, condition) =>
    cluster.until(what, async () => {
      if (mortality.isDead) {
        await cluster.restart(() => {
          mortality.revive();
        });
      }
      return (await condition()) || undefined;
    });

/** A VM with its disk and its ephemeral volume comes and goes again. */
async function liveAndDie(cluster: ClusterFixture, mortality: Mortality): Promise<void> {
  const until = reviving(cluster, mortality);
  const secret = await cluster.api.create<KubernetesObject>(secrets, {
    metadata: { name: 'vm-1', namespace: 'bosh' },
  });
  const disk: PersistentVolumeClaim = { metadata: { name: 'disk-1', namespace: 'bosh' }, spec };
  await cluster.api.create(persistentVolumeClaims, disk);
  const vm = makePod('vm-1', {
    volumes: [
      { name: 'disk', persistentVolumeClaim: { claimName: 'disk-1' } },
      { name: 'data', ephemeral: { volumeClaimTemplate: { spec } } },
    ],
  });
  const { name = '', uid = '' } = secret.metadata;
  vm.metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Secret', name, uid }];
  await cluster.api.create(pods, vm);
  await until(
    'the pod to have a node',
    async () => (await cluster.find<Pod>(at(pods, 'vm-1')))?.spec.nodeName,
  );
  assert.equal(cluster.provisioner.volumes.size, 2);

  await cluster.api.delete(at(secrets, 'vm-1'));
  await cluster.api.delete(at(persistentVolumeClaims, 'disk-1'));
  await until('the pod to be deleted', async () => {
    const found = await cluster.find(at(pods, 'vm-1'));
    return found?.metadata.deletionTimestamp !== undefined;
  });
  assert.equal(cluster.provisioner.volumes.size, 2);
  await cluster.api.delete(at(pods, 'vm-1'), { gracePeriodSeconds: 0 });
  await until('everything to be gone', async () => {
    const left = await Promise.all(
      [pods, persistentVolumeClaims, persistentVolumes].map((resource) => cluster.api.list(resource)),
    );
    return left.every(({ items }) => items.length === 0) && cluster.provisioner.volumes.size === 0;
  });
}

/** A disk grows, is changed, snapshotted, restored and cloned, and everything goes again. */
async function changeAndCopy(cluster: ClusterFixture, mortality: Mortality): Promise<void> {
  const until = reviving(cluster, mortality);
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
    const left = await Promise.all(
      [persistentVolumeClaims, persistentVolumes, volumeSnapshots, volumeSnapshotContents].map((resource) =>
        cluster.api.list(resource),
      ),
    );
    const { volumes, snapshots } = cluster.provisioner;
    return left.every(({ items }) => items.length === 0) && volumes.size + snapshots.size === 0;
  });
}

for (const moment of ['before', 'after'] as const) {
  for (const story of [liveAndDie, changeAndCopy]) {
    test(`${story.name}: killed ${moment} any write, the next life brings it to the same end`, async (t) => {
      let lives = 0;
      for (let writes = 0; ; writes += 1) {
        const mortality = new Mortality(moment, writes);
        await t.test(`after ${writes} writes`, async (one) => {
          const cluster = await startCluster(one, mortality);
          await story(cluster, mortality);
        });
        if (!mortality.wasKilled) {
          break;
        }
        lives += 1;
      }
      assert.ok(lives > 15, `only ${lives} writes`);
    });
  }
}
