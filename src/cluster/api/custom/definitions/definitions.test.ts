import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { isApiError } from '../../../../kubernetes/api-error.ts';
import type { KubernetesObject } from '../../../../kubernetes/object.ts';
import {
  customResourceDefinitions,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../../../kubernetes/resources.ts';
import type { LocalApi } from '../../local-api.ts';
import { openLocalApi } from '../../open-local-api.ts';
import { temporaryDirectory } from '../../testing/temporary-directory.ts';
import type { CustomResourceDefinition } from '../definition.ts';

interface Snapshot extends KubernetesObject {
  spec: Record<string, unknown>;
}

async function open(t: TestContext, directory = temporaryDirectory(t)): Promise<LocalApi> {
  const api = await openLocalApi({ directory });
  t.after(() => api.close());
  return api;
}

const invalid = (message: RegExp) => (error: unknown) =>
  isApiError(error, 422) && message.test(error.message);

test('what a snapshot is taken of is one thing, and stays', async (t) => {
  const api = await open(t);
  const snapshot = (source: object): Snapshot => ({
    metadata: { namespace: 'bosh', name: 's' },
    spec: { source },
  });
  const both = { persistentVolumeClaimName: 'a', volumeSnapshotContentName: 'b' };
  for (const source of [{}, both])
    await assert.rejects(api.create(volumeSnapshots, snapshot(source)), invalid(/one and only one schema/));
  await api.create(volumeSnapshots, snapshot({ persistentVolumeClaimName: 'a' }));
  const reference = { resource: volumeSnapshots, namespace: 'bosh', name: 's' };
  const other = { spec: { source: { persistentVolumeClaimName: 'b' } } };
  await assert.rejects(api.patch(reference, other), invalid(/persistentVolumeClaimName is immutable/));
  const swapped = { spec: { source: { persistentVolumeClaimName: null, volumeSnapshotContentName: 'c' } } };
  await assert.rejects(
    api.patch(reference, swapped),
    invalid(/persistentVolumeClaimName is required once set/),
  );
});

test('a content names its snapshot and a known policy', async (t) => {
  const api = await open(t);
  const content = (spec: object): Snapshot => ({
    metadata: { name: 'c' },
    spec: {
      driver: 'a.b',
      deletionPolicy: 'Delete',
      source: { volumeHandle: 'v' },
      volumeSnapshotRef: { name: 's', namespace: 'bosh' },
      ...spec,
    },
  });
  await assert.rejects(
    api.create(volumeSnapshotContents, content({ deletionPolicy: 'Keep' })),
    invalid(/Unsupported value: "Keep": supported values: "Delete", "Retain"/),
  );
  await assert.rejects(
    api.create(volumeSnapshotContents, content({ volumeSnapshotRef: { name: 's' } })),
    invalid(/spec\.volumeSnapshotRef\.namespace: Required value/),
  );
  await api.create(volumeSnapshotContents, content({}));
});

test('a definition that an earlier version installed is brought up to date, and a deleted one comes back', async (t) => {
  const directory = temporaryDirectory(t);
  const first = await openLocalApi({ directory });
  const reference = { resource: customResourceDefinitions, name: 'volumesnapshots.snapshot.storage.k8s.io' };
  const { spec } = await first.get<CustomResourceDefinition>(reference);
  const old = { versions: spec.versions.map((version) => ({ ...version, additionalPrinterColumns: [] })) };
  await first.patch(reference, { spec: old });
  await first.delete({ ...reference, name: 'volumesnapshotclasses.snapshot.storage.k8s.io' });
  await first.close();
  const second = await open(t, directory);
  assert.deepEqual((await second.get<CustomResourceDefinition>(reference)).spec, spec);
  assert(second.registry.kinds.has('volumesnapshotclasses.snapshot.storage.k8s.io'));
});
