import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { ListQuery } from '../../src/kubernetes/api.ts';
import { configMaps, pods } from '../../src/kubernetes/resources.ts';
import { configMap, unschedulablePod } from './contract-objects.ts';
import type { Subject } from './subject.ts';

/**
 * get and list (apiserver: pkg/endpoints/handlers/get.go; apimachinery: pkg/labels/selector.go,
 * pkg/fields/selector.go; kubernetes: pkg/registry/core/pod/strategy.go, ToSelectableFields).
 */
export function readContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  before(async () => {
    subject = await makeSubject();
    const { api, namespace } = subject;
    await api.create(configMaps, configMap(namespace, 'b', { labels: { tier: 'web', zone: 'z1' } }));
    await api.create(configMaps, configMap(namespace, 'a', { labels: { tier: 'db' } }));
    await api.create(configMaps, configMap(namespace, 'c'));
  });
  after(() => subject.end());

  const names = async (query: ListQuery): Promise<(string | undefined)[]> => {
    const { items } = await subject.api.list(configMaps, { namespace: subject.namespace, ...query });
    return items.map(({ metadata }) => metadata.name).filter((name) => name !== 'kube-root-ca.crt');
  };

  test('get returns apiVersion and kind; a missing object is 404 with its name and resource', async () => {
    const { api, namespace } = subject;
    const found = await api.get({ resource: configMaps, namespace, name: 'a' });
    assert.equal(found.kind, 'ConfigMap');
    assert.equal(found.apiVersion, 'v1');
    await assert.rejects(api.get({ resource: pods, namespace, name: 'none' }), (error) => {
      assert(isApiError(error, 404, 'NotFound'));
      assert.equal(error.message, 'pods "none" not found');
      assert.deepEqual(error.status.details, { name: 'none', kind: 'pods' });
      return true;
    });
  });

  test('a resource that is not served is 404', async () => {
    const resource = { group: '', version: 'v1', plural: 'nonsenses', namespaced: true };
    await assert.rejects(subject.api.list(resource, { namespace: subject.namespace }), (error) =>
      isApiError(error, 404),
    );
  });

  test('lists are sorted by name and carry a resourceVersion', async () => {
    assert.deepEqual(await names({}), ['a', 'b', 'c']);
    const list = await subject.api.list(configMaps, { namespace: subject.namespace });
    assert.match(list.metadata.resourceVersion, /^\d+$/);
  });

  test('label selectors select objects', async () => {
    assert.deepEqual(await names({ labelSelector: 'tier=web' }), ['b']);
    assert.deepEqual(await names({ labelSelector: 'tier==web,zone=z1' }), ['b']);
    assert.deepEqual(await names({ labelSelector: 'tier!=web' }), ['a', 'c']);
    assert.deepEqual(await names({ labelSelector: 'tier in (web, db)' }), ['a', 'b']);
    assert.deepEqual(await names({ labelSelector: 'tier notin (web)' }), ['a', 'c']);
    assert.deepEqual(await names({ labelSelector: 'tier' }), ['a', 'b']);
    assert.deepEqual(await names({ labelSelector: '!tier' }), ['c']);
    await assert.rejects(names({ labelSelector: 'a=(' }), (error) => isApiError(error, 400, 'BadRequest'));
  });

  test('field selectors select objects', async () => {
    assert.deepEqual(await names({ fieldSelector: 'metadata.name=b' }), ['b']);
    assert.deepEqual(await names({ fieldSelector: 'metadata.name!=b' }), ['a', 'c']);
    await assert.rejects(
      names({ fieldSelector: 'data.x=1' }),
      (error) => isApiError(error, 400) && error.message.startsWith('"data.x" is not a known field selector'),
    );
    const { api, namespace } = subject;
    await assert.rejects(
      api.list(pods, { namespace, fieldSelector: 'data.x=1' }),
      (error) => isApiError(error, 400) && error.message === 'field label not supported: data.x',
    );
  });

  test('pods are found by node and phase', async () => {
    const { api, namespace } = subject;
    await api.create(pods, unschedulablePod(namespace, 'waiting'));
    const query = { namespace, fieldSelector: 'spec.nodeName=,status.phase=Pending' };
    const { items } = await api.list(pods, query);
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['waiting'],
    );
  });
}
