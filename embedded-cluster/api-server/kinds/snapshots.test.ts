import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import {
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../../src/kubernetes/resources.ts';
import type { VolumeSnapshot, VolumeSnapshotContent } from '../../../src/kubernetes/types/storage.ts';
import { type LocalApi, openLocalApi } from '../local-api.ts';
import { ObjectStore } from '../store/object-store.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { temporaryDirectory } from '../testing/temporary-directory.ts';

interface Spec extends KubernetesObject {
  spec: Record<string, unknown>;
}

async function open(t: TestContext, directory = temporaryDirectory(t)): Promise<LocalApi> {
  const api = await openLocalApi({ directory });
  t.after(() => api.close());
  return api;
}

const invalid = (message: RegExp) => (error: unknown) =>
  isApiError(error, 422) && message.test(error.message);

test('a VolumeSnapshotContent needs a snapshot and a known policy, and its source is immutable', async (t) => {
  const api = await open(t);
  const content = (spec: object): Spec => ({
    metadata: { name: 'c' },
    spec: {
      driver: 'a.b',
      deletionPolicy: 'Delete',
      source: { volumeHandle: 'v' },
      volumeSnapshotRef: { name: 's', namespace: 'bosh' },
      ...spec,
    },
  });
  for (const [spec, message] of [
    [{ deletionPolicy: 'Keep' }, /Unsupported value: "Keep": supported values: "Delete", "Retain"/],
    [{ volumeSnapshotRef: { name: 's' } }, /spec\.volumeSnapshotRef\.namespace: Required value/],
    [{ driver: undefined }, /spec\.driver: Required value/],
    [
      { source: { volumeHandle: 'v', snapshotHandle: 's' } },
      /exactly one of volumeHandle and snapshotHandle must be set/,
    ],
  ] as const)
    await assert.rejects(api.create(volumeSnapshotContents, content(spec)), invalid(message));
  await api.create(volumeSnapshotContents, content({}));
  const reference = { resource: volumeSnapshotContents, name: 'c' };
  await assert.rejects(
    api.patch(reference, { spec: { source: { volumeHandle: 'w' } } }),
    invalid(/spec\.source\.volumeHandle: .*volumeHandle is immutable/),
  );
  // Nanoseconds, which exceed a safe integer.
  const status = { creationTime: 2 ** 60, readyToUse: true };
  const ready = await api.patch<VolumeSnapshotContent>(reference, { status }, { subresource: 'status' });
  assert.deepEqual(ready.status, status);
});

test('a VolumeSnapshotClass needs a driver and a policy', async (t) => {
  const api = await open(t);
  await assert.rejects(
    api.create(volumeSnapshotClasses, { metadata: { name: 'a' } }),
    invalid(/driver: Required value.*deletionPolicy: Required value/),
  );
});

const stored = (apiVersion: string, kind: string, name: string, more: object): StoredObject => ({
  ...{ apiVersion, kind, ...more },
  metadata: { name, namespace: 'bosh', uid: `uid-${name}`, resourceVersion: '', managedFields: [{}] },
});

test('snapshots stored by a version with CustomResourceDefinitions are served, and its other objects are kept', async (t) => {
  const directory = temporaryDirectory(t);
  await (await openLocalApi({ directory })).close();
  const file = join(directory, 'journal', 'objects.journal');
  const previous = ObjectStore.open({ file, now: Date.now });
  const group = 'snapshot.storage.k8s.io';
  const spec = { source: { persistentVolumeClaimName: 'disk-1' } };
  previous.put(`volumesnapshots.${group}`, stored(`${group}/v1`, 'VolumeSnapshot', 'snap-1', { spec }));
  const definition = stored('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'widgets.example.org', {});
  previous.put('customresourcedefinitions.apiextensions.k8s.io', definition);
  previous.put('widgets.example.org', stored('example.org/v1', 'Widget', 'one', {}));
  await previous.close();

  const api = await open(t, directory);
  const reference = { resource: volumeSnapshots, namespace: 'bosh', name: 'snap-1' };
  assert.deepEqual((await api.get<VolumeSnapshot>(reference)).spec, spec);
  const labelled = await api.patch<VolumeSnapshot>(reference, { metadata: { labels: { a: 'b' } } });
  assert.deepEqual([labelled.spec, labelled.metadata.managedFields], [spec, undefined]);
  const widgets = { group: 'example.org', version: 'v1', plural: 'widgets', namespaced: true };
  await assert.rejects(api.list(widgets), (error) => isApiError(error, 404));
  assert.equal(api.registry.store.list('widgets.example.org').length, 1);
});
