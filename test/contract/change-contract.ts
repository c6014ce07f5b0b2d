import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { configMaps, pods } from '../../src/kubernetes/resources.ts';
import { configMap, unschedulablePod, type ConfigMap } from './contract-objects.ts';
import type { Subject } from './subject.ts';

/**
 * replace and patch (api-conventions.md, concurrency control and consistency, spec and status; apiserver:
 * pkg/endpoints/handlers/update.go and patch.go, pkg/registry/rest/update.go, pkg/storage/etcd3/store.go;
 * kubernetes: pkg/apis/core/validation/validation.go, ValidatePodUpdate; RFC 7386, RFC 6902).
 */
export function changeContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  test('replace with an old resourceVersion is 409 Conflict, without one it is unconditional', async () => {
    const { api, namespace } = subject;
    const first = await api.create<ConfigMap>(configMaps, configMap(namespace, 'versions'));
    const second = await api.replace<ConfigMap>(configMaps, { ...first, data: { a: '1' } });
    assert(Number(second.metadata.resourceVersion) > Number(first.metadata.resourceVersion));
    await assert.rejects(api.replace(configMaps, { ...first, data: { a: '2' } }), (error) => {
      assert(isApiError(error, 409, 'Conflict'));
      assert.match(
        error.message,
        /^Operation cannot be fulfilled on configmaps "versions": the object has been modified; /,
      );
      return true;
    });
    const third = await api.replace<ConfigMap>(
      configMaps,
      configMap(namespace, 'versions', { data: { a: '3' } }),
    );
    assert.deepEqual(third.data, { a: '3' });
    assert.equal(third.metadata.uid, first.metadata.uid);
  });

  test('a replace without a change keeps the resourceVersion', async () => {
    const { api, namespace } = subject;
    const made = await api.create(configMaps, configMap(namespace, 'same'));
    const again = await api.replace(configMaps, made);
    assert.equal(again.metadata.resourceVersion, made.metadata.resourceVersion);
  });

  test('replace of a missing object is 404', async () => {
    const { api, namespace } = subject;
    await assert.rejects(api.replace(configMaps, configMap(namespace, 'absent')), (error) =>
      isApiError(error, 404),
    );
  });

  test("a pod's spec is immutable", async () => {
    const { api, namespace } = subject;
    const pod = await api.create<Pod>(pods, unschedulablePod(namespace, 'frozen'));
    await assert.rejects(
      // without a version: a scheduler may have written the pod since then
      api.replace(pods, {
        ...pod,
        metadata: { namespace, name: 'frozen' },
        spec: { ...pod.spec, restartPolicy: 'Never' },
      }),
      (error) => {
        assert(isApiError(error, 422, 'Invalid'));
        assert.match(error.message, /spec: Forbidden: pod updates may not change fields other than/);
        return true;
      },
    );
  });

  test('the main resource does not write status, and status writes neither spec nor more', async () => {
    const { api, namespace } = subject;
    const pod = await api.create<Pod>(pods, unschedulablePod(namespace, 'halves'));
    const metadata = { namespace, name: 'halves' };
    const main = await api.replace<Pod>(pods, { ...pod, metadata, status: { phase: 'Running' } });
    assert.equal(main.status?.phase, 'Pending');
    const changed = {
      ...main,
      metadata,
      spec: { ...main.spec, hostname: 'x' },
      status: { ...main.status, message: 'seen' },
    };
    const status = await api.replace<Pod>(pods, changed, 'status');
    assert.equal(status.status?.message, 'seen');
    assert.equal(status.spec.hostname, undefined);
  });

  test('a merge patch sets, and deletes by null', async () => {
    const { api, namespace } = subject;
    await api.create(
      configMaps,
      configMap(namespace, 'merged', { data: { a: '1', b: '2' }, labels: { l: 'm' } }),
    );
    const reference = { resource: configMaps, namespace, name: 'merged' };
    const patched = await api.patch<ConfigMap>(reference, {
      data: { a: null, c: '3' },
      metadata: { labels: null },
    });
    assert.deepEqual(patched.data, { b: '2', c: '3' });
    assert.equal(patched.metadata.labels, undefined);
  });

  test('a merge patch with an old resourceVersion is 409', async () => {
    const { api, namespace } = subject;
    const first = await api.create(configMaps, configMap(namespace, 'conditional'));
    const reference = { resource: configMaps, namespace, name: 'conditional' };
    await api.patch(reference, { data: { a: '1' } });
    const stale = { metadata: { resourceVersion: first.metadata.resourceVersion }, data: { a: '2' } };
    await assert.rejects(api.patch(reference, stale), (error) => isApiError(error, 409, 'Conflict'));
  });

  test('a JSON patch applies as a whole or, with 422, not at all', async () => {
    const { api, namespace } = subject;
    await api.create(configMaps, configMap(namespace, 'operations', { data: { a: '1' } }));
    const reference = { resource: configMaps, namespace, name: 'operations' };
    const type = 'application/json-patch+json';
    const patched = await api
      .patch<ConfigMap>(
        reference,
        [
          { op: 'test', path: '/data/a', value: '1' },
          { op: 'add', path: '/data/b~1c', value: '2' },
        ],
        { type },
      )
      .catch((error: unknown) => error);
    // a key of a ConfigMap cannot have a slash: no part of the patch may be stored
    assert(isApiError(patched, 422));
    const failing = [
      { op: 'add', path: '/data/b', value: '2' },
      { op: 'test', path: '/data/a', value: 'other' },
    ];
    await assert.rejects(api.patch(reference, failing, { type }), (error) => isApiError(error, 422));
    assert.deepEqual((await api.get<ConfigMap>(reference)).data, { a: '1' });
    const good = await api.patch<ConfigMap>(reference, failing.slice(0, 1), { type });
    assert.deepEqual(good.data, { a: '1', b: '2' });
  });

  test('a patch of status leaves the other fields unchanged', async () => {
    const { api, namespace } = subject;
    await api.create<Pod>(pods, unschedulablePod(namespace, 'status-patch'));
    const reference = { resource: pods, namespace, name: 'status-patch' };
    const patched = await api.patch<Pod>(
      reference,
      { status: { reason: 'Because' }, spec: { hostname: 'x' } },
      { subresource: 'status' },
    );
    assert.equal(patched.status?.reason, 'Because');
    assert.equal(patched.spec.hostname, undefined);
  });
}
