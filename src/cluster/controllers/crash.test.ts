import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { persistentVolumeClaims, persistentVolumes, pods, secrets } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/volume.ts';
import type { ClusterFixture } from './testing/cluster-fixture.ts';
import { at, makePod, startCluster } from './testing/cluster-fixture.ts';
import { Mortality } from './testing/mortal.ts';

const spec: PersistentVolumeClaim['spec'] = {
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '64Mi' } },
};

/** A VM with its disk and its ephemeral volume comes and goes again. */
async function liveAndDie(cluster: ClusterFixture, mortality: Mortality): Promise<void> {
  const until = (what: string, condition: () => Promise<unknown>): Promise<unknown> =>
    cluster.until(what, async () => {
      if (mortality.isDead) {
        await cluster.restart(() => {
          mortality.revive();
        });
      }
      return (await condition()) || undefined;
    });
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

for (const moment of ['before', 'after'] as const) {
  test(`killed ${moment} any write, the next life brings it to the same end`, async (t) => {
    let lives = 0;
    for (let writes = 0; ; writes += 1) {
      const mortality = new Mortality(moment, writes);
      await t.test(`after ${writes} writes`, async (one) => {
        const cluster = await startCluster(one, mortality);
        await liveAndDie(cluster, mortality);
      });
      if (!mortality.wasKilled) {
        break;
      }
      lives += 1;
    }
    assert.ok(lives > 15, `only ${lives} writes`);
  });
}
