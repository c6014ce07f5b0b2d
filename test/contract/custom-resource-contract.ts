import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import { volumeSnapshots } from '../../src/kubernetes/resources.ts';
import type { VolumeSnapshot } from '../../src/kubernetes/types/storage.ts';
import type { Subject } from './subject.ts';

/**
 * VolumeSnapshots, which are custom resources: definitions of external-snapshotter (client/config/crd) in a
 * real cluster (kubernetes.io: Custom Resources; apiextensions pkg/apiserver/customresource_handler.go), a
 * native kind in the embedded one.
 */
export function customResourceContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  const snapshot = (
    name: string,
    source: object = { persistentVolumeClaimName: 'none' },
  ): VolumeSnapshot => ({
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: { namespace: subject.namespace, name },
    spec: { source },
  });
  const at = (name: string): { resource: typeof volumeSnapshots; namespace: string; name: string } => ({
    resource: volumeSnapshots,
    namespace: subject.namespace,
    name,
  });

  test('objects are created, listed, watched and deleted', async () => {
    const { api, namespace } = subject;
    const made = await api.create(volumeSnapshots, snapshot('first'));
    assert.equal(made.metadata.generation, 1);
    const list = await api.list(volumeSnapshots, { namespace });
    assert.deepEqual([list.kind, list.apiVersion], ['VolumeSnapshotList', 'snapshot.storage.k8s.io/v1']);
    assert(list.items.some(({ metadata }) => metadata.name === 'first'));
    await api.delete(at('first'));
    const ending = new AbortController();
    const { resourceVersion } = made.metadata;
    const query = { namespace, resourceVersion, signal: ending.signal };
    for await (const event of api.watch(volumeSnapshots, query)) {
      if (event.type === 'DELETED' && event.object.metadata.name === 'first') ending.abort();
    }
    await assert.rejects(
      api.get(at('first')),
      (error) =>
        isApiError(error, 404) &&
        error.message === 'volumesnapshots.snapshot.storage.k8s.io "first" not found',
    );
  });

  test('the source is exactly one of two fields, and cannot change', async () => {
    const { api } = subject;
    const both = { persistentVolumeClaimName: 'a', volumeSnapshotContentName: 'b' };
    for (const source of [{}, both])
      await assert.rejects(
        api.create(volumeSnapshots, snapshot('bad', source)),
        (error) =>
          isApiError(error, 422, 'Invalid') &&
          error.message.includes('exactly one of volumeSnapshotContentName and persistentVolumeClaimName'),
      );
    await api.create(volumeSnapshots, snapshot('kept', { persistentVolumeClaimName: 'a' }));
    for (const [source, message] of [
      [{ persistentVolumeClaimName: 'b' }, 'persistentVolumeClaimName is immutable'],
      [
        { persistentVolumeClaimName: null, volumeSnapshotContentName: 'c' },
        'persistentVolumeClaimName is required once set',
      ],
    ] as const)
      await assert.rejects(
        api.patch(at('kept'), { spec: { source } }),
        (error) => isApiError(error, 422) && error.message.includes(message),
      );
  });

  test('an unknown field is refused', async () => {
    const { api } = subject;
    const source = { persistentVolumeClaimName: 'a', nonsense: 1 };
    await assert.rejects(
      api.create(volumeSnapshots, snapshot('unknown', source)),
      (error) => isApiError(error, 400) && error.message.includes('unknown field "spec.source.nonsense"'),
    );
  });

  test('status is written by /status only, and does not change the generation', async () => {
    const { api } = subject;
    const ready = { status: { readyToUse: true } };
    const made = await api.create<VolumeSnapshot>(volumeSnapshots, { ...snapshot('halves'), ...ready });
    assert.equal(made.status, undefined);
    const change = { spec: { volumeSnapshotClassName: 'other' }, ...ready };
    const main = await api.patch<VolumeSnapshot>(at('halves'), change);
    assert.deepEqual([main.status?.readyToUse === true, main.metadata.generation], [false, 2]);
    const more = {
      metadata: { labels: { a: 'b' } },
      spec: { volumeSnapshotClassName: 'third' },
      status: { readyToUse: true },
    };
    const { metadata, spec, status } = await api.patch<VolumeSnapshot>(at('halves'), more, {
      subresource: 'status',
    });
    assert.deepEqual(
      [status?.readyToUse, spec.volumeSnapshotClassName, metadata.generation, metadata.labels],
      [true, 'other', 2, undefined],
    );
  });

  test('a replace needs a resourceVersion', async () => {
    const { api } = subject;
    await api.create(volumeSnapshots, snapshot('versioned'));
    await assert.rejects(
      api.replace(volumeSnapshots, snapshot('versioned')),
      (error) => isApiError(error, 422) && error.message.includes('metadata.resourceVersion: Invalid value'),
    );
    await api.replace(volumeSnapshots, await api.get(at('versioned')));
  });
}
