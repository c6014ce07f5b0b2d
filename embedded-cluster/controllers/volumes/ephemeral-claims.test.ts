import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { persistentVolumeClaims, persistentVolumes, pods } from '../../../src/kubernetes/resources.ts';
import { at, makePod, settled, startCluster } from '../testing/cluster-fixture.ts';
import { bound, claim, finish, untilDeleted } from './testing/claims.ts';

suite('a generic ephemeral volume', () => {
  test('has its own claim, which is deleted with the pod', async (t) => {
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
    await untilDeleted(cluster, persistentVolumeClaims, 'vm-1-data');
    await untilDeleted(cluster, persistentVolumes, data.spec.volumeName ?? '');
  });

  test('does not use a claim of that name with another owner', async (t) => {
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
});
