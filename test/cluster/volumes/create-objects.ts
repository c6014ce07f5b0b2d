import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import { waitFor } from '../../../src/kubernetes/client/wait.ts';
import { customResourceDefinitions } from '../../support/custom-resource-definitions.ts';
import { storageObjects, type ClusterObject } from '../csi/storage-objects.ts';
import { readSnapshotDefinitions } from './snapshot-definitions.ts';

interface Definition extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/**
 * Creates the missing CustomResourceDefinitions of snapshots, and the missing objects of the drivers and
 * their classes.
 */
export async function createVolumeObjects(api: KubernetesApi, definitions: string): Promise<void> {
  for (const definition of await readSnapshotDefinitions(definitions)) {
    await createMissing(api, { resource: customResourceDefinitions, object: definition });
    const name = definition.metadata.name;
    await waitFor<Definition, true>({
      api,
      reference: { resource: customResourceDefinitions, name },
      condition: (found) => (isEstablished(found) ? true : undefined),
      awaited: `the definition ${name} to be served`,
      deadlineMs: 60_000,
      describeState: (found) => JSON.stringify(found?.status),
    });
  }
  for (const each of storageObjects({ withSnapshots: true })) await createMissing(api, each);
}

function isEstablished(definition: Definition | undefined): boolean {
  return (
    definition?.status?.conditions?.some(
      ({ type, status }) => type === 'Established' && status === 'True',
    ) === true
  );
}

async function createMissing(api: KubernetesApi, { resource, object }: ClusterObject): Promise<void> {
  try {
    await api.create(resource, object);
  } catch (error) {
    if (!isApiError(error, 409)) throw error;
  }
}
