import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import { configMaps, namespaces, pods } from '../../src/kubernetes/resources.ts';
import { configMap, unschedulablePod } from './contract-objects.ts';
import type { Subject } from './subject.ts';

/**
 * Deletion: immediate, delayed by finalizers, conditional (apiserver: pkg/registry/generic/registry/store.go,
 * pkg/registry/rest/delete.go; kubernetes: pkg/registry/core/pod/strategy.go,
 * plugin/pkg/admission/namespace/lifecycle).
 */
export function deleteContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  const isNotFound = (error: unknown): boolean => isApiError(error, 404, 'NotFound');

  test('a deleted object is 404, also for a second delete', async () => {
    const { api, namespace } = subject;
    const reference = { resource: configMaps, namespace, name: 'short' };
    await api.create(configMaps, configMap(namespace, 'short'));
    await api.delete(reference);
    await assert.rejects(api.get(reference), isNotFound);
    await assert.rejects(api.delete(reference), isNotFound);
  });

  test('a pod without a node is deleted at once', async () => {
    const { api, namespace } = subject;
    const reference = { resource: pods, namespace, name: 'unscheduled' };
    await api.create(pods, unschedulablePod(namespace, 'unscheduled'));
    await api.delete(reference);
    await assert.rejects(api.get(reference), isNotFound);
  });

  test('a wrong uid or resourceVersion as precondition is 409 and deletes nothing', async () => {
    const { api, namespace } = subject;
    const reference = { resource: configMaps, namespace, name: 'exact' };
    const made = await api.create(configMaps, configMap(namespace, 'exact'));
    const uid = '00000000-0000-4000-8000-000000000000';
    await assert.rejects(api.delete(reference, { preconditions: { uid } }), (error) => {
      assert(isApiError(error, 409, 'Conflict'));
      assert.match(error.message, /UID in the precondition|Precondition failed: UID/);
      return true;
    });
    await assert.rejects(api.delete(reference, { preconditions: { resourceVersion: '1' } }), (error) =>
      isApiError(error, 409, 'Conflict'),
    );
    await api.delete(reference, { preconditions: { uid: made.metadata.uid } });
    await assert.rejects(api.get(reference), isNotFound);
  });

  test('a finalizer keeps the object until it is removed, and none can be added during the deletion', async () => {
    const { api, namespace } = subject;
    const reference = { resource: configMaps, namespace, name: 'held' };
    const finalizers = ['bosh.cloudfoundry.org/contract'];
    await api.create(configMaps, configMap(namespace, 'held', { finalizers }));
    await api.delete(reference);
    const terminating = await api.get(reference);
    assert.notEqual(terminating.metadata.deletionTimestamp, undefined);
    const more = { metadata: { finalizers: [...finalizers, 'bosh.cloudfoundry.org/late'] } };
    await assert.rejects(api.patch(reference, more), (error) => isApiError(error, 422));
    await api.patch(reference, { metadata: { finalizers: null } });
    await assert.rejects(api.get(reference), isNotFound);
  });

  test('deletionTimestamp and uid cannot be written', async () => {
    const { api, namespace } = subject;
    const reference = { resource: configMaps, namespace, name: 'living' };
    const made = await api.create(configMaps, configMap(namespace, 'living'));
    await assert.rejects(
      api.patch(reference, { metadata: { deletionTimestamp: '2020-01-01T00:00:00Z' } }),
      (error) => isApiError(error, 422) && error.message.includes('metadata.deletionTimestamp'),
    );
    const other = {
      ...made,
      metadata: { namespace, name: 'living', uid: '00000000-0000-4000-8000-000000000000' },
    };
    await assert.rejects(api.replace(configMaps, other), (error) => isApiError(error, 409, 'Conflict'));
  });

  test('some namespaces may not be deleted', async () => {
    await assert.rejects(subject.api.delete({ resource: namespaces, name: 'default' }), (error) =>
      isApiError(error, 403, 'Forbidden'),
    );
  });
}
