import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../../kubernetes/pod.ts';
import type { Deployment, ReplicaSet, ReplicationController } from '../../../kubernetes/workload.ts';
import * as resources from '../../../kubernetes/resources.ts';
import type { ClusterFixture } from '../testing/cluster-fixture.ts';
import { at, settled, startCluster } from '../testing/cluster-fixture.ts';

const labels = { app: 'web' };
const template = (image = 'web:1') => ({
  metadata: { labels },
  spec: { containers: [{ name: 'web', image, command: ['serve'] }] },
});

const replicaSet = (replicas: number): ReplicaSet => ({
  metadata: { name: 'web', namespace: 'bosh' },
  spec: { replicas, selector: { matchLabels: labels }, template: template() },
});

async function podsOf({ api }: ClusterFixture): Promise<Pod[]> {
  return (await api.list<Pod>(resources.pods, { namespace: 'bosh' })).items;
}

/** What a node would do and report, which cannot pull that image. */
async function beNode(cluster: ClusterFixture, missingImage?: string): Promise<void> {
  for (const pod of await podsOf(cluster)) {
    if (pod.metadata.deletionTimestamp !== undefined) {
      await cluster.api.delete(at(resources.pods, pod.metadata.name ?? ''), { gracePeriodSeconds: 0 });
      continue;
    }
    if (pod.status?.phase === 'Running' || pod.spec.containers[0]?.image === missingImage) continue;
    const conditions = [{ type: 'Ready', status: 'True' }];
    await cluster.api.patch(
      at(resources.pods, pod.metadata.name ?? ''),
      { status: { phase: 'Running', conditions } },
      { subresource: 'status' },
    );
  }
}

test('a ReplicaSet gets its pods, replaces one that goes, and shrinks', async (t) => {
  const cluster = await startCluster(t);
  await cluster.api.create(resources.replicaSets, replicaSet(3));
  const [first] = await cluster.until('three pods', async () => {
    const pods = await podsOf(cluster);
    return pods.length === 3 && pods;
  });
  assert.equal(first?.metadata.ownerReferences?.[0]?.controller, true);
  await cluster.api.delete(at(resources.pods, first?.metadata.name ?? ''));
  await cluster.until('another one', async () => {
    await beNode(cluster);
    const pods = await podsOf(cluster);
    return pods.length === 3 && pods.every(({ metadata }) => metadata.uid !== first?.metadata.uid);
  });
  await cluster.api.patch(at(resources.replicaSets, 'web'), { spec: { replicas: 1 } });
  await cluster.until('one pod, ready and told of', async () => {
    await beNode(cluster);
    const set = await cluster.api.get<ReplicaSet>(at(resources.replicaSets, 'web'));
    return set.status?.replicas === 1 && set.status.availableReplicas === 1;
  });
  assert.deepEqual(cluster.errors, []);
});

test('orphans with the labels are adopted, pods that lose them are let go and replaced', async (t) => {
  const cluster = await startCluster(t);
  await cluster.api.create(resources.pods, {
    metadata: { name: 'orphan', namespace: 'bosh', labels },
    ...{ spec: template().spec },
  });
  await cluster.api.create(resources.replicaSets, replicaSet(1));
  const adopted = await cluster.until('the orphan has an owner', async () => {
    const pod = await cluster.api.get<Pod>(at(resources.pods, 'orphan'));
    return pod.metadata.ownerReferences?.[0]?.name === 'web' && pod;
  });
  assert.equal((await podsOf(cluster)).length, 1);
  await cluster.api.patch(at(resources.pods, adopted.metadata.name ?? ''), {
    metadata: { labels: { app: 'x' } },
  });
  await cluster.until('it is let go', async () => {
    const pods = await podsOf(cluster);
    const orphan = pods.find(({ metadata }) => metadata.name === 'orphan');
    return pods.length === 2 && (orphan?.metadata.ownerReferences ?? []).length === 0;
  });
});

test('what a quota does not allow is a condition, and no storm of tries', async (t) => {
  const cluster = await startCluster(t);
  await cluster.api.create(resources.resourceQuotas, {
    metadata: { name: 'two', namespace: 'bosh' },
    ...{ spec: { hard: { pods: '2' } } },
  });
  const controller: ReplicationController = {
    metadata: { name: 'web', namespace: 'bosh' },
    spec: { replicas: 3, template: template() },
  };
  await cluster.api.create(resources.replicationControllers, controller);
  const failed = await cluster.until('a condition', async () => {
    const { status, metadata } = await cluster.api.get<ReplicationController>(
      at(resources.replicationControllers, 'web'),
    );
    return status?.conditions?.[0]?.type === 'ReplicaFailure' && metadata;
  });
  await settled();
  const later = await cluster.api.get(at(resources.replicationControllers, 'web'));
  assert.equal(later.metadata.resourceVersion, failed.resourceVersion);
  assert.equal((await podsOf(cluster)).length, 2);
  await cluster.api.patch(at(resources.replicationControllers, 'web'), { spec: { replicas: 2 } });
  await cluster.until('the condition goes', async () => {
    const { status } = await cluster.api.get<ReplicationController>(
      at(resources.replicationControllers, 'web'),
    );
    return status?.conditions === undefined;
  });
});

test('a ReplicationController leaves its pods behind unless it is said otherwise', async (t) => {
  const cluster = await startCluster(t);
  const controller: ReplicationController = {
    metadata: { name: 'web', namespace: 'bosh' },
    spec: { replicas: 1, template: template() },
  };
  await cluster.api.create(resources.replicationControllers, controller);
  await cluster.until('a pod', async () => (await podsOf(cluster)).length === 1);
  await cluster.api.delete(at(resources.replicationControllers, 'web'));
  await cluster.until(
    'it is gone',
    async () => (await cluster.find(at(resources.replicationControllers, 'web'))) === undefined,
  );
  const [pod] = await podsOf(cluster);
  assert.deepEqual(pod?.metadata.ownerReferences ?? [], []);
});

test('a Deployment rolls from one template to the next, never below what has to be there', async (t) => {
  const cluster = await startCluster(t);
  const deployment: Deployment = {
    metadata: { name: 'web', namespace: 'bosh' },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: template(),
    },
  };
  const complete = (image: string) => async (): Promise<Deployment | false> => {
    await beNode(cluster);
    const now = await cluster.api.get<Deployment>(at(resources.deployments, 'web'));
    const pods = await podsOf(cluster);
    const isDone =
      now.status?.updatedReplicas === 3 &&
      now.status.availableReplicas === 3 &&
      pods.length === 3 &&
      pods.every(({ spec }) => spec.containers[0]?.image === image);
    return isDone && now;
  };
  await cluster.api.create(resources.deployments, deployment);
  await cluster.until('three pods of the first template', complete('web:1'));
  await cluster.api.patch(at(resources.deployments, 'web'), { spec: { template: template('web:2') } });
  let fewest = 3;
  const rolled = await cluster.until('three pods of the second', async () => {
    const ready = (await podsOf(cluster)).filter(
      ({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase === 'Running',
    ).length;
    fewest = Math.min(fewest, ready);
    return complete('web:2')();
  });
  assert.equal(fewest, 3);
  assert.equal(rolled.metadata.annotations?.['deployment.kubernetes.io/revision'], '2');
  const { items: sets } = await cluster.api.list<ReplicaSet>(resources.replicaSets);
  assert.deepEqual(
    sets.map(({ spec }) => spec.replicas ?? 1).toSorted((left, right) => left - right),
    [0, 3],
  );
  await cluster.api.delete(at(resources.deployments, 'web'));
  await cluster.until('all of it is gone', async () => {
    await beNode(cluster);
    const { items } = await cluster.api.list(resources.replicaSets);
    return items.length === 0 && (await podsOf(cluster)).length === 0;
  });
  assert.deepEqual(cluster.errors, []);
});

test('a Deployment that is scaled in the middle of a rollout that is stuck: its sets share what is new', async (t) => {
  const cluster = await startCluster(t);
  const deployment: Deployment = {
    metadata: { name: 'web', namespace: 'bosh' },
    spec: {
      replicas: 4,
      selector: { matchLabels: labels },
      strategy: { rollingUpdate: { maxSurge: 2, maxUnavailable: 1 } },
      template: template(),
    },
  };
  const untilSizes = (what: string, wanted: Readonly<Record<string, number>>): Promise<unknown> =>
    cluster.until(what, async () => {
      await beNode(cluster, 'web:2');
      const { items } = await cluster.api.list<ReplicaSet>(resources.replicaSets);
      const sizes = items.map(({ spec }) => [spec.template.spec.containers[0]?.image, spec.replicas]);
      return isDeepStrictEqual(Object.fromEntries(sizes), wanted);
    });
  const change = (spec: object): Promise<unknown> =>
    cluster.api.patch(at(resources.deployments, 'web'), { spec });
  await cluster.api.create(resources.deployments, deployment);
  await cluster.until('four pods that are available', async () => {
    await beNode(cluster);
    const { status } = await cluster.api.get<Deployment>(at(resources.deployments, 'web'));
    return status?.availableReplicas === 4;
  });
  await change({ template: template('web:2') });
  await untilSizes('it to be stuck', { 'web:1': 3, 'web:2': 3 });
  await change({ replicas: 10 });
  await untilSizes('both to have grown', { 'web:1': 6, 'web:2': 6 });
  await change({ paused: true, replicas: 4 });
  await untilSizes('both to have shrunk, paused', { 'web:1': 3, 'web:2': 3 });
  assert.deepEqual(cluster.errors, []);
});
