import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { WatchEvent } from '../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import {
  configMaps,
  namespaces,
  persistentVolumeClaims,
  pods,
  secrets,
  storageClasses,
} from '../../src/kubernetes/resources.ts';
import { ManualClock } from '../../src/kubernetes/testing/manual-clock.ts';
import { type LocalApi, openLocalApi } from './local-api.ts';
import { temporaryDirectory } from './testing/temporary-directory.ts';

async function open(
  t: TestContext,
  more: { historySize?: number } = {},
): Promise<{ api: LocalApi; clock: ManualClock }> {
  const clock = new ManualClock(Date.UTC(2030, 0, 1));
  const api = await openLocalApi({ directory: temporaryDirectory(t), clock, ...more });
  t.after(() => api.close());
  return { api, clock };
}

const at = (name: string): { resource: typeof pods; namespace: string; name: string } => ({
  resource: pods,
  namespace: 'bosh',
  name,
});

const simplePod = (name: string): Pod => ({
  metadata: { namespace: 'bosh', name },
  spec: { containers: [{ name: 'c', image: 'x:1' }] },
});

async function boundPod(api: LocalApi, name: string, changes: Partial<Pod['spec']> = {}): Promise<Pod> {
  await api.create<Pod>(pods, {
    metadata: { namespace: 'bosh', name },
    spec: { containers: [{ name: 'c', image: 'x:1' }], ...changes },
  });
  await api.bindPod('bosh', name, 'embedded');
  return api.get<Pod>(at(name));
}

const isNotFound = (error: unknown): boolean => isApiError(error, 404, 'NotFound');

test('objects, uids and versions survive a restart', async (t) => {
  const directory = temporaryDirectory(t);
  const first = await openLocalApi({ directory });
  const made = await first.create<Pod>(pods, simplePod('a'));
  await first.close();
  const second = await openLocalApi({ directory });
  assert.deepEqual(await second.get(at('a')), made);
  const next = await second.create<KubernetesObject>(configMaps, {
    metadata: { namespace: 'bosh', name: 'next' },
  });
  assert(Number(next.metadata.resourceVersion) > Number(made.metadata.resourceVersion));
  await second.close();
});

test('bootstrap creates the namespaces and the default class once', async (t) => {
  const { api } = await open(t);
  const names = (await api.list(namespaces)).items.map(({ metadata }) => metadata.name);
  assert.deepEqual(names, ['bosh', 'default', 'kube-node-lease', 'kube-public', 'kube-system']);
  const [local] = (await api.list<KubernetesObject & { volumeBindingMode?: string }>(storageClasses)).items;
  assert.equal(local?.metadata.name, 'local');
  assert.equal(local.volumeBindingMode, 'WaitForFirstConsumer');
});

test('a running pod is deleted gracefully: a deadline first, the object when the node says so', async (t) => {
  const { api, clock } = await open(t);
  const pod = await boundPod(api, 'a', { terminationGracePeriodSeconds: 20 });
  await api.delete(at('a'));
  const going = await api.get<Pod>(at('a'));
  assert.equal(going.metadata.deletionTimestamp, '2030-01-01T00:00:20Z');
  assert.equal(going.metadata.deletionGracePeriodSeconds, 20);
  assert.equal(going.metadata.generation, (pod.metadata.generation ?? 0) + 1);
  clock.advance(5000);
  await api.delete(at('a'));
  assert.deepEqual((await api.get(at('a'))).metadata, going.metadata, 'a repeat changes nothing');
  await api.delete(at('a'), { gracePeriodSeconds: 60 });
  assert.deepEqual((await api.get(at('a'))).metadata, going.metadata, 'the period never grows');
  await api.delete(at('a'), { gracePeriodSeconds: 10 });
  assert.equal((await api.get(at('a'))).metadata.deletionTimestamp, '2030-01-01T00:00:10Z');
  await api.delete(at('a'), { gracePeriodSeconds: 0 });
  await assert.rejects(api.get(at('a')), isNotFound);
});

test('terminal pods are deleted at once; a negative grace period means one second', async (t) => {
  const { api } = await open(t);
  await boundPod(api, 'ended');
  await api.patch(at('ended'), { status: { phase: 'Succeeded' } }, { subresource: 'status' });
  await api.delete(at('ended'));
  await assert.rejects(api.get(at('ended')), isNotFound);
  await boundPod(api, 'negative');
  await api.delete(at('negative'), { gracePeriodSeconds: -5 });
  assert.equal((await api.get(at('negative'))).metadata.deletionGracePeriodSeconds, 1);
});

test('a finalizer keeps a pod after the end of its grace period', async (t) => {
  const { api } = await open(t);
  await boundPod(api, 'held');
  await api.patch(at('held'), { metadata: { finalizers: ['a.b/c'] } });
  await api.delete(at('held'));
  await api.patch(at('held'), { metadata: { finalizers: null } });
  assert.equal(
    (await api.get(at('held'))).metadata.deletionGracePeriodSeconds,
    30,
    'the node has not let go yet',
  );
  await api.patch(at('held'), { metadata: { finalizers: [] } });
  await api.delete(at('held'), { gracePeriodSeconds: 0 });
  await assert.rejects(api.get(at('held')), isNotFound);
});

test("the garbage collector's finalizers are refused, because nothing here removes them", async (t) => {
  const { api } = await open(t);
  for (const finalizer of ['foregroundDeletion', 'orphan'])
    await assert.rejects(
      api.create(configMaps, { metadata: { namespace: 'bosh', name: 'f', finalizers: [finalizer] } }),
      (error) => isApiError(error, 422) && error.message.includes(`the finalizer ${finalizer}`),
    );
});

test('a terminating namespace accepts no objects, and is removed when it is empty and finalized', async (t) => {
  const { api } = await open(t);
  await api.create(namespaces, { metadata: { name: 'temporary' } });
  await api.create(configMaps, { metadata: { namespace: 'temporary', name: 'content' } });
  await assert.rejects(api.finalizeNamespace('temporary'), (error) => isApiError(error, 409));
  await api.delete({ resource: namespaces, name: 'temporary' });
  const going = await api.get<KubernetesObject & { status?: object }>({
    resource: namespaces,
    name: 'temporary',
  });
  assert.deepEqual(going.status, { phase: 'Terminating' });
  await assert.rejects(
    api.create(configMaps, { metadata: { namespace: 'temporary', name: 'late' } }),
    (error) => {
      assert(isApiError(error, 403, 'Forbidden'));
      assert.equal(error.status.details?.causes?.[0]?.reason, 'NamespaceTerminating');
      return true;
    },
  );
  await assert.rejects(api.finalizeNamespace('temporary'), /still holds configmaps\/content/);
  await api.delete({ resource: configMaps, namespace: 'temporary', name: 'content' });
  await api.finalizeNamespace('temporary');
  await assert.rejects(api.get({ resource: namespaces, name: 'temporary' }), isNotFound);
  await api.finalizeNamespace('temporary');
});

test('stored objects of a kind that is no longer served do not block a namespace', async (t) => {
  const directory = temporaryDirectory(t);
  const earlier = await openLocalApi({ directory });
  await earlier.create(namespaces, { metadata: { name: 'old' } });
  const deployments = { group: 'apps', version: 'v1', plural: 'deployments', namespaced: true };
  const metadata = { namespace: 'old', name: 'web', uid: 'u', resourceVersion: '' };
  earlier.registry.store.put('deployments.apps', { metadata });
  await earlier.close();
  const api = await openLocalApi({ directory });
  t.after(() => api.close());
  await assert.rejects(api.get({ resource: deployments, namespace: 'old', name: 'web' }), isNotFound);
  await api.delete({ resource: namespaces, name: 'old' });
  await api.finalizeNamespace('old');
  await assert.rejects(api.get({ resource: namespaces, name: 'old' }), isNotFound);
});

test('a pod is bound once, and not while it is being deleted', async (t) => {
  const { api } = await open(t);
  const pod = await boundPod(api, 'a');
  assert.equal(pod.spec.nodeName, 'embedded');
  assert.deepEqual(
    pod.status?.conditions?.map(({ type, status }) => [type, status]),
    [['PodScheduled', 'True']],
  );
  await assert.rejects(api.bindPod('bosh', 'a', 'other'), (error) => isApiError(error, 409));
  await assert.rejects(api.bindPod('bosh', 'none', 'embedded'), isNotFound);
  await assert.rejects(
    boundPod(api, 'gated', { schedulingGates: [{ name: 'example.com/gate' }] }),
    (error) => isApiError(error, 409) && error.message.includes('has non-empty .spec.schedulingGates'),
  );
});

test('a claim keeps a named class, gets the default class for none, has no class for "", and does not grow while unbound', async (t) => {
  const { api } = await open(t);
  const claim = (name: string, more: object): KubernetesObject & { spec: Record<string, unknown> } => ({
    metadata: { namespace: 'bosh', name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...more },
  });
  const classOf = async (name: string, more: object): Promise<unknown> =>
    (await api.create(persistentVolumeClaims, claim(name, more))).spec['storageClassName'];
  assert.equal(await classOf('a', {}), 'local');
  assert.equal(await classOf('b', { storageClassName: 'other' }), 'other');
  assert.equal(await classOf('c', { storageClassName: '' }), '');
  const grow = { spec: { resources: { requests: { storage: '2Gi' } } } };
  const reference = { resource: persistentVolumeClaims, namespace: 'bosh', name: 'a' };
  await assert.rejects(
    api.patch(reference, grow),
    /spec is immutable after creation except resources.requests/,
  );
  await assert.rejects(
    api.patch(reference, { spec: { accessModes: ['ReadWriteMany'] } }),
    /spec is immutable after creation/,
  );
  const bound = await api.patch<KubernetesObject & { spec: object }>(reference, {
    spec: { volumeName: 'pv-1' },
  });
  assert.equal((bound.spec as { volumeName?: string }).volumeName, 'pv-1');
  await assert.rejects(api.patch(reference, { spec: { volumeName: 'pv-2' } }), (error) =>
    isApiError(error, 422),
  );
});

test('unsupported fields of a pod are refused by name', async (t) => {
  const { api } = await open(t);
  const pod = (spec: object): Pod => ({
    metadata: { namespace: 'bosh', name: 'refused' },
    spec: { containers: [{ name: 'c', image: 'x:1' }], ...spec },
  });
  const refusals: [object, RegExp][] = [
    [{ serviceAccountName: 'robot' }, /account bosh\/robot: serviceaccount "robot" not found/],
    [{ enableServiceLinks: true }, /spec.enableServiceLinks: .*does not support service links/],
    [{ schedulerName: 'mine' }, /does not support schedulers other/],
    [
      { containers: [{ name: 'c', image: 'x', ports: [{ containerPort: 1, hostPort: 1 }] }] },
      /does not support host ports/,
    ],
    [
      { containers: [{ name: 'c', image: 'x', resources: { limits: { 'nvidia.com/gpu': '1' } } }] },
      /has only cpu, memory/,
    ],
    [{ priorityClassName: 'gold' }, /no PriorityClass with name gold was found/],
    [{ volumes: [{ name: 'n', nfs: {} }] }, /unknown field "spec\.volumes\[0\]\.nfs"/],
  ];
  for (const [spec, text] of refusals) await assert.rejects(api.create(pods, pod(spec)), text);
  await assert.rejects(api.get(at('refused')), isNotFound);
});

test('pods: mounts, resources, tolerations and volumes are checked', async (t) => {
  const { api } = await open(t);
  const causes = async (spec: Partial<Pod['spec']>): Promise<unknown> => {
    const pod: Pod = {
      metadata: { namespace: 'bosh', name: 'checked' },
      spec: { containers: [{ name: 'c', image: 'x:1' }], ...spec },
    };
    const error: unknown = await api.create(pods, pod).catch((caught: unknown) => caught);
    assert(isApiError(error, 422), String(error));
    return error.status.details?.causes?.map(({ field, reason }) => `${field} ${reason}`);
  };
  const container = { name: 'c', image: 'x:1' };
  assert.deepEqual(
    await causes({ containers: [{ ...container, volumeMounts: [{ name: 'v', mountPath: '/v' }] }] }),
    ['spec.containers[0].volumeMounts[0].name FieldValueNotFound'],
  );
  assert.deepEqual(await causes({ containers: [container, container] }), [
    'spec.containers[1].name FieldValueDuplicate',
  ]);
  assert.deepEqual(
    await causes({
      containers: [{ ...container, resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }],
    }),
    ['spec.containers[0].resources.requests FieldValueInvalid'],
  );
  assert.deepEqual(await causes({ tolerations: [{ operator: 'Equal', value: 'x' }] }), [
    'spec.tolerations[0].operator FieldValueInvalid',
  ]);
  assert.deepEqual(await causes({ volumes: [{ name: 'v', hostPath: { path: '/a/../b' } }] }), [
    'spec.volumes[0].hostPath.path FieldValueInvalid',
  ]);
  assert.deepEqual(await causes({ volumes: [{ name: 'v', hostPath: { path: '/a' }, emptyDir: {} }] }), [
    'spec.volumes[0].emptyDir FieldValueForbidden',
  ]);
});

test('an immutable Secret stays as it is, and no error shows a value', async (t) => {
  const { api } = await open(t);
  const reference = { resource: secrets, namespace: 'bosh', name: 's' };
  const secret = { metadata: { namespace: 'bosh', name: 's' }, data: { k: 'aGFsbG8=' }, immutable: true };
  await api.create<KubernetesObject>(secrets, secret);
  await assert.rejects(api.patch(reference, { data: { k: 'b3RoZXI=' } }), (error) => {
    assert(isApiError(error, 422));
    assert.doesNotMatch(JSON.stringify(error.status), /aGFsbG8|b3RoZXI/);
    return true;
  });
  const broken = { metadata: { namespace: 'bosh', name: 'b' }, data: { k: 'hunter2!' } };
  await assert.rejects(api.create<KubernetesObject>(secrets, broken), (error) => {
    assert(isApiError(error, 422));
    assert.doesNotMatch(JSON.stringify(error.status), /hunter2/);
    return true;
  });
});

test('a watch from a version that is too old is an ERROR event with 410', async (t) => {
  const { api } = await open(t, { historySize: 5 });
  for (let n = 0; n < 30; n += 1) {
    await api.create(configMaps, { metadata: { namespace: 'bosh', name: `c${n}` } });
  }
  const seen: WatchEvent<KubernetesObject>[] = [];
  for await (const event of api.watch(configMaps, { resourceVersion: '3' })) seen.push(event);
  const [event] = seen;
  assert(seen.length === 1 && event?.type === 'ERROR');
  assert.equal(event.object.code, 410);
  assert.equal(event.object.reason, 'Expired');
  assert.match(event.object.message ?? '', /^too old resource version: 3 \(\d+\)$/);
});

test('changes of a returned object do not reach the store', async (t) => {
  const { api } = await open(t);
  const given = { metadata: { namespace: 'bosh', name: 'own', labels: { a: 'b' } } };
  const made = await api.create(configMaps, given);
  given.metadata.labels.a = 'changed';
  made.metadata.labels = { a: 'changed too' };
  const { metadata } = await api.get({ resource: configMaps, namespace: 'bosh', name: 'own' });
  assert.deepEqual(metadata.labels, { a: 'b' });
});
