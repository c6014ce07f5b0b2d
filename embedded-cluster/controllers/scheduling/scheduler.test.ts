import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { nodes, persistentVolumeClaims, pods, priorityClasses } from '../../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../src/kubernetes/types/storage.ts';
import { type ClusterFixture, at, makePod, settled, startCluster } from '../testing/cluster-fixture.ts';

const scheduled = (cluster: ClusterFixture, name: string): Promise<string> =>
  cluster.until(
    `pod ${name} to be scheduled`,
    async () => (await cluster.find<Pod>(at(pods, name)))?.spec.nodeName,
  );

const unschedulable = (cluster: ClusterFixture, name: string): Promise<string> =>
  cluster.until(`pod ${name} to be refused`, async () => {
    const found = await cluster.find<Pod>(at(pods, name));
    const condition = found?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    return condition?.reason === 'Unschedulable' ? condition.message : undefined;
  });

const asking = (name: string, requests: Record<string, string>): Pod =>
  makePod(name, { containers: [{ name: 'c', image: 'i', resources: { requests } }] });

suite('the scheduler', () => {
  test('assigns a node to a pod that fits, and emits an event', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(pods, makePod('vm-1'));

    assert.equal(await scheduled(cluster, 'vm-1'), 'embedded');
    await cluster.until('the event', async () => (await cluster.reasons('vm-1')).includes('Scheduled'));
  });

  test('reports why a pod does not fit, and schedules it when resources are released', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(pods, asking('vm-1', { cpu: '3' }));
    await cluster.api.create(pods, asking('vm-2', { cpu: '3' }));
    await scheduled(cluster, 'vm-1');

    assert.match(
      await unschedulable(cluster, 'vm-2'),
      /^0\/1 nodes are available: 1 Insufficient cpu\. preemption/u,
    );
    await cluster.until('the event', async () =>
      (await cluster.reasons('vm-2')).includes('FailedScheduling'),
    );

    await cluster.api.delete(at(pods, 'vm-1'), { gracePeriodSeconds: 0 });
    assert.equal(await scheduled(cluster, 'vm-2'), 'embedded');
  });

  test('keeps a pod with a missing claim unscheduled', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(
      pods,
      makePod('vm-1', { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'none' } }] }),
    );

    assert.match(await unschedulable(cluster, 'vm-1'), /persistentvolumeclaim "none" not found/u);
  });

  test('schedules the waiting pods on a node that becomes schedulable again', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.patch(at(nodes, 'embedded'), { spec: { unschedulable: true } });
    await settled();
    await cluster.api.create(pods, makePod('vm-1'));
    assert.match(await unschedulable(cluster, 'vm-1'), /1 node\(s\) were unschedulable/u);

    await cluster.api.patch(at(nodes, 'embedded'), { spec: { unschedulable: null } });

    assert.equal(await scheduled(cluster, 'vm-1'), 'embedded');
  });

  test('schedules one pod at a time for a ReadWriteOncePod claim', async (t) => {
    const cluster = await startCluster(t);
    const claim: PersistentVolumeClaim = {
      metadata: { name: 'disk-1', namespace: 'bosh' },
      spec: { accessModes: ['ReadWriteOncePod'], resources: { requests: { storage: '1Mi' } } },
    };
    await cluster.api.create(persistentVolumeClaims, claim);
    const volumes = [{ name: 'd', persistentVolumeClaim: { claimName: 'disk-1' } }];
    await cluster.api.create(pods, makePod('one', { volumes }));
    await scheduled(cluster, 'one');
    await cluster.api.create(pods, makePod('two', { volumes }));
    assert.match(
      await unschedulable(cluster, 'two'),
      /: 1 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode\./u,
    );
    await cluster.api.delete(at(pods, 'one'), { gracePeriodSeconds: 0 });
    assert.equal(await scheduled(cluster, 'two'), 'embedded');
  });

  test('schedules the waiting pod with the higher priority first, and preempts no pod', async (t) => {
    const cluster = await startCluster(t);
    await cluster.api.create(priorityClasses, {
      metadata: { name: 'high' },
      value: 1000,
    } as KubernetesObject);
    await cluster.api.create(pods, asking('running', { cpu: '3' }));
    await scheduled(cluster, 'running');
    await cluster.api.create(pods, asking('low', { cpu: '3' }));
    await unschedulable(cluster, 'low');
    const { metadata, spec } = asking('high', { cpu: '3' });
    await cluster.api.create(pods, { metadata, spec: { ...spec, priorityClassName: 'high' } });
    await unschedulable(cluster, 'high');
    assert.equal((await cluster.find<Pod>(at(pods, 'running')))?.metadata.deletionTimestamp, undefined);

    await cluster.api.delete(at(pods, 'running'), { gracePeriodSeconds: 0 });
    await scheduled(cluster, 'high');
    assert.equal((await cluster.find<Pod>(at(pods, 'low')))?.spec.nodeName, undefined);
  });
});
