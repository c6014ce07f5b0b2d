import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offlineMethods } from '../../src/cpi/protocol/methods.ts';
import { volumeAttachments } from '../../src/cpi/disk/attach/volume-attachments.ts';
import { networkPolicyKind } from '../../src/cpi/testing/foreign-kinds.ts';
import { interceptingApi } from '../../src/cpi/testing/intercepting-api.ts';
import { storageCloud } from '../../src/cpi/testing/storage-cloud.ts';
import { verbOf } from '../../src/cpi/testing/verb-of.ts';
import { verbScenarios } from '../../src/cpi/testing/verb-scenarios.ts';
import type { KubernetesApi, ListQuery, Resource } from '../../src/kubernetes/api.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  resourceQuotas,
  storageClasses,
  volumeSnapshotClasses,
} from '../../src/kubernetes/resources.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../src/kubernetes/types/storage.ts';

/** A cluster has only a few objects of these kinds, however many pods and volumes it has. */
const few: readonly Resource[] = [storageClasses, volumeSnapshotClasses, resourceQuotas];

/**
 * The methods for a disk that no VM has. It is not known on which node it may still be mounted, and a
 * VolumeAttachment can only be selected by its name, which depends on the node.
 */
const anyNode: readonly string[] = ['delete_disk', 'resize_disk', 'update_disk'];

/** Returns true for selectors that match only objects of the CPI, one object, or the pods of one node. */
function isNarrow({ labelSelector = '', fieldSelector = '' }: ListQuery = {}): boolean {
  return (
    labelSelector.includes('bosh.cloudfoundry.org/') ||
    /^(?:metadata\.name|involvedObject\.name|spec\.nodeName)=./u.test(fieldSelector)
  );
}

/**
 * Records the resources that are listed or watched without a narrow selector. Every claim has a volume of a
 * driver that attaches it.
 */
function watchedApi(api: KubernetesApi): { readonly api: KubernetesApi; readonly wide: Set<string> } {
  const wide = new Set<string>();
  const check = (resource: Resource, query: ListQuery | undefined): void => {
    if (!few.includes(resource) && !isNarrow(query)) wide.add(resource.plural);
  };
  const list = async (resource: Resource, query?: ListQuery): Promise<unknown> => {
    check(resource, query);
    if (resource !== volumeAttachments) return api.list(resource, query);
    return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '1' }, items: [] };
  };
  const get: KubernetesApi['get'] = async (reference) => {
    if (reference.resource === persistentVolumes) return attachable(reference.name) as never;
    const found = await api.get(reference);
    return (
      reference.resource === persistentVolumeClaims ? bound(found as PersistentVolumeClaim) : found
    ) as never;
  };
  return {
    wide,
    api: {
      ...interceptingApi(api, () => Promise.resolve()),
      get,
      list: list as KubernetesApi['list'],
      watch: (resource, query) => {
        check(resource, query);
        return api.watch(resource, query);
      },
    },
  };
}

const attachable = (name: string): PersistentVolume => ({
  metadata: { name },
  spec: { csi: { driver: 'bosh-kubernetes.io/local', volumeHandle: name } },
});

const bound = ({ spec, ...claim }: PersistentVolumeClaim): PersistentVolumeClaim => ({
  ...claim,
  spec: { volumeName: 'volume-1', ...spec },
});

for (const scenario of verbScenarios.filter(({ method }) => !offlineMethods.includes(method))) {
  test(`${scenario.name} reads no list that grows with the objects of others`, async (t) => {
    const { cloud } = await storageCloud(t, { deadlines: {}, ...scenario.config }, [networkPolicyKind]);
    const args = await scenario.prepare(cloud);
    const { api, wide } = watchedApi(cloud.api);
    await verbOf(scenario.method)({ ...cloud, api, exec: scenario.exec?.(cloud) ?? cloud.exec }, args);
    assert.deepEqual([...wide], anyNode.includes(scenario.method) ? [volumeAttachments.plural] : []);
  });
}
