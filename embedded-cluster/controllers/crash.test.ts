import assert from 'node:assert/strict';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { persistentVolumeClaims, persistentVolumes, pods, secrets } from '../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../src/kubernetes/types/storage.ts';
import { type ClusterFixture, at, makePod } from './testing/cluster-fixture.ts';
import { type Until, testEachCrash } from './testing/test-each-crash.ts';

const spec: PersistentVolumeClaim['spec'] = {
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '64Mi' } },
};

/** A VM with its disk and its ephemeral volume is created and deleted. */
async function liveAndDie(cluster: ClusterFixture, until: Until): Promise<void> {
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
  const { name, uid } = secret.metadata;
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
    const remaining = await Promise.all(
      [pods, persistentVolumeClaims, persistentVolumes].map((resource) => cluster.api.list(resource)),
    );
    return remaining.every(({ items }) => items.length === 0) && cluster.provisioner.volumes.size === 0;
  });
}

testEachCrash(liveAndDie);
