import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { KubernetesObject, OwnerReference } from '../../src/kubernetes/object.ts';
import {
  configMaps,
  events,
  namespaces,
  networkAttachmentDefinitions,
  pods,
  secrets,
  volumeSnapshots,
} from '../../src/kubernetes/resources.ts';
import { type ClusterFixture, at, makePod, settled, startCluster } from './testing/cluster-fixture.ts';

const owner = (
  object: KubernetesObject,
  kind: string,
  more: Partial<OwnerReference> = {},
): OwnerReference => ({
  apiVersion: 'v1',
  kind,
  name: object.metadata.name,
  uid: object.metadata.uid ?? '',
  ...more,
});
const named = (name: string, ownerReferences: OwnerReference[] = []): KubernetesObject => ({
  metadata: { name, namespace: 'bosh', ownerReferences },
});
const untilDeleted = (cluster: ClusterFixture, resource: typeof pods, name: string): Promise<true> =>
  cluster.until(
    `${resource.plural} ${name} to go`,
    async () => (await cluster.find(at(resource, name))) === undefined,
  );

suite('the garbage collector', () => {
  test('deletes dependents of a deleted owner, across kinds and levels', async (t) => {
    const cluster = await startCluster(t);
    const secret = await cluster.api.create(secrets, named('vm-1'));
    const pod = makePod('vm-1');
    pod.metadata.ownerReferences = [owner(secret, 'Secret')];
    const stored = await cluster.api.create(pods, pod);
    await cluster.api.create(configMaps, named('vm-1', [owner(secret, 'Secret')]));
    await cluster.api.create(configMaps, named('of-pod', [owner(stored, 'Pod')]));
    await cluster.api.create(configMaps, named('free'));
    await settled();
    assert.notEqual(await cluster.find(at(configMaps, 'of-pod')), undefined);

    await cluster.api.delete(at(secrets, 'vm-1'));
    await untilDeleted(cluster, configMaps, 'vm-1');
    await cluster.until('the deletion of the pod', async () => {
      const found = await cluster.find(at(pods, 'vm-1'));
      return found === undefined || found.metadata.deletionTimestamp !== undefined;
    });
    await cluster.api.delete(at(pods, 'vm-1'), { gracePeriodSeconds: 0 }).catch(() => undefined);
    await untilDeleted(cluster, configMaps, 'of-pod');

    assert.notEqual(await cluster.find(at(configMaps, 'free')), undefined);
  });

  test('does not accept an owner with the same name and another uid', async (t) => {
    const cluster = await startCluster(t);
    const secret = await cluster.api.create(secrets, named('vm-1'));
    await cluster.api.create(configMaps, named('stale', [owner(secret, 'Secret', { uid: 'another' })]));

    await untilDeleted(cluster, configMaps, 'stale');
  });

  test('keeps an object with one of two owners, and removes the reference to the other', async (t) => {
    const cluster = await startCluster(t);
    const secret = await cluster.api.create(secrets, named('vm-1'));
    const references = [owner(secret, 'Secret'), owner(secret, 'Secret', { name: 'gone', uid: 'gone' })];
    await cluster.api.create(configMaps, named('shared', references));

    await cluster.until('the dangling reference to go', async () => {
      const found = await cluster.find(at(configMaps, 'shared'));
      return found?.metadata.ownerReferences?.length === 1;
    });
  });

  test('keeps the dependents of an owner of an unknown kind', async (t) => {
    const cluster = await startCluster(t);
    const reference = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'x', uid: 'x' };
    await cluster.api.create(configMaps, named('foreign', [reference]));
    await settled();

    assert.notEqual(await cluster.find(at(configMaps, 'foreign')), undefined);
  });

  test('removes a namespace when all its objects are deleted', async (t) => {
    const cluster = await startCluster(t);
    const finalized = named('held');
    finalized.metadata.finalizers = ['test.example/hold'];
    await cluster.api.create(secrets, named('vm-1'));
    await cluster.api.create(configMaps, finalized);
    await settled();

    await cluster.api.delete(at(namespaces, 'bosh'));
    await untilDeleted(cluster, secrets, 'vm-1');
    await settled();
    assert.notEqual((await cluster.find(at(configMaps, 'held')))?.metadata.deletionTimestamp, undefined);
    assert.notEqual(await cluster.find(at(namespaces, 'bosh')), undefined);

    await cluster.api.patch(at(configMaps, 'held'), { metadata: { finalizers: null } });
    await untilDeleted(cluster, namespaces, 'bosh');
  });

  test('deletes the pods of a namespace first, and the objects that they use after them', async (t) => {
    const cluster = await startCluster(t);
    const pod = makePod('vm-1');
    pod.metadata.finalizers = ['test.example/hold'];
    await cluster.api.create(pods, pod);
    await cluster.api.create(secrets, named('of-the-pod'));
    await settled();

    await cluster.api.delete(at(namespaces, 'bosh'));
    await settled();
    assert.notEqual((await cluster.find(at(pods, 'vm-1')))?.metadata.deletionTimestamp, undefined);
    assert.equal((await cluster.find(at(secrets, 'of-the-pod')))?.metadata.deletionTimestamp, undefined);

    await cluster.api.patch(at(pods, 'vm-1'), { metadata: { finalizers: null } });
    await cluster.api.delete(at(pods, 'vm-1'), { gracePeriodSeconds: 0 });
    await untilDeleted(cluster, secrets, 'of-the-pod');
    await untilDeleted(cluster, namespaces, 'bosh');
  });

  test('keeps an event for one hour after its last occurrence', async (t) => {
    const cluster = await startCluster(t);
    const lastTimestamp = new Date(cluster.clock.now()).toISOString();
    const event = {
      ...named('news'),
      lastTimestamp,
      involvedObject: { kind: 'Pod', namespace: 'bosh', name: 'x' },
    } as KubernetesObject;
    await cluster.api.create(events, event);
    await settled();

    cluster.clock.advance(3_599_000);
    await settled();
    assert.notEqual(await cluster.find(at(events, 'news')), undefined);

    cluster.clock.advance(1000);
    await untilDeleted(cluster, events, 'news');
  });

  test('follows owner references of custom resources, and deletes them with their namespace', async (t) => {
    const cluster = await startCluster(t);
    const { api } = cluster;
    const namespace = 'passing';
    await api.create(namespaces, { metadata: { name: namespace } });
    await api.create<KubernetesObject & { spec: object }>(volumeSnapshots, {
      metadata: { namespace, name: 'snapshot' },
      spec: { source: { persistentVolumeClaimName: 'claim' } },
    });
    const secret = await api.create(secrets, named('root'));
    const network = await api.create(networkAttachmentDefinitions, named('net', [owner(secret, 'Secret')]));
    const reference = owner(network, 'NetworkAttachmentDefinition', { apiVersion: 'k8s.cni.cncf.io/v1' });
    await api.create(secrets, named('leaf', [reference]));
    await settled();
    assert.notEqual(await cluster.find(at(secrets, 'leaf')), undefined);

    await api.delete(at(secrets, 'root'));
    await untilDeleted(cluster, secrets, 'leaf');
    assert.equal(await cluster.find(at(networkAttachmentDefinitions, 'net')), undefined);
    await api.delete({ resource: namespaces, name: namespace });
    await cluster.until(
      'the namespace to go',
      async () => (await cluster.find({ resource: namespaces, name: namespace })) === undefined,
    );
  });
});
