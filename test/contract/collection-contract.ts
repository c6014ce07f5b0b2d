import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { KubernetesObject, ObjectMeta, OwnerReference } from '../../src/kubernetes/object.ts';
import { configMaps, persistentVolumes } from '../../src/kubernetes/resources.ts';
import { configMap } from './contract-objects.ts';
import type { Subject } from './subject.ts';
import { until } from '../support/until.ts';

const finalizers = ['bosh.cloudfoundry.org/contract'];

/** Owners and dependents (kubernetes.io: Garbage Collection; pkg/controller/garbagecollector). */
export function collectionContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  const limit = { timeout: 60_000 };
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  const at = (name: string): { resource: typeof configMaps; namespace: string; name: string } => ({
    resource: configMaps,
    namespace: subject.namespace,
    name,
  });
  const find = async (name: string): Promise<KubernetesObject | undefined> => {
    try {
      return await subject.api.get(at(name));
    } catch (error) {
      if (isApiError(error, 404)) return undefined;
      throw error;
    }
  };
  const make = (name: string, metadata: Partial<ObjectMeta> = {}): Promise<KubernetesObject> =>
    subject.api.create<KubernetesObject>(configMaps, configMap(subject.namespace, name, metadata));
  const owning = ({ metadata }: KubernetesObject, more: Partial<OwnerReference> = {}): OwnerReference => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: metadata.name,
    uid: metadata.uid ?? '',
    ...more,
  });
  const remove = (name: string): Promise<void> => subject.api.delete(at(name));
  const untilDeleted = (name: string): Promise<true> =>
    until(`${name} to go`, async () => ((await find(name)) === undefined ? true : undefined));
  const leaving = (name: string): Promise<KubernetesObject> =>
    until(`the deletion of ${name}`, async () => {
      const found = await find(name);
      return found?.metadata.deletionTimestamp === undefined ? undefined : found;
    });
  const release = async (name: string): Promise<void> => {
    await subject.api.patch(at(name), { metadata: { finalizers: null } });
  };

  test('an object with several owners stays until the last of them is deleted', limit, async () => {
    const owners = await Promise.all(['s1', 's2', 's3'].map((name) => make(name)));
    await make('shared', { ownerReferences: owners.map((owner) => owning(owner)) });
    for (const [index, name] of ['s1', 's2'].entries()) {
      await remove(name);
      await until('the reference to go', async () => {
        const references = (await find('shared'))?.metadata.ownerReferences ?? [];
        return references.length === 2 - index ? true : undefined;
      });
    }
    const last = await find('shared');
    assert.deepEqual(
      [last?.metadata.deletionTimestamp, last?.metadata.ownerReferences?.[0]?.name],
      [undefined, 's3'],
    );
    await remove('s3');
    await untilDeleted('shared');
  });

  test(
    'the background policy, the default, deletes the owner at once and its dependents after it',
    limit,
    async () => {
      const owner = await make('back');
      await make('back-child', { ownerReferences: [owning(owner)], finalizers });
      await remove('back');
      assert.equal(await find('back'), undefined);
      await leaving('back-child');
      await release('back-child');
      await untilDeleted('back-child');
    },
  );

  test('a cluster-scoped object is not collected for an owner in a namespace', limit, async () => {
    const { api, namespace } = subject;
    const name = `${namespace}-contract-owned`;
    const owner = await make('namespaced-owner');
    const reference = { resource: persistentVolumes, name };
    const volume = {
      metadata: { name, ownerReferences: [owning(owner, { uid: 'no-such-uid' })] },
      spec: { capacity: { storage: '1Mi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/nowhere' } },
    };
    await api.create<KubernetesObject & { spec: object }>(persistentVolumes, volume);
    await make('of-nobody', { ownerReferences: [owning(owner, { uid: 'no-such-uid' })] });
    // the collector received the events of both, this one later
    await untilDeleted('of-nobody');
    assert.equal((await api.get(reference)).metadata.deletionTimestamp, undefined);
    await api.delete(reference);
  });

  test('an Event owns nothing', limit, async () => {
    const reference = { apiVersion: 'v1', kind: 'Event', name: 'e', uid: 'u' };
    await assert.rejects(
      make('of-event', { ownerReferences: [reference] }),
      (error) => isApiError(error, 422) && error.message.includes('is disallowed from being an owner'),
    );
  });
}
