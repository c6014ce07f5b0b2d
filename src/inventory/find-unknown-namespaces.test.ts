import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forbidden } from '../../embedded-cluster/api-server/errors/status-errors.ts';
import type { KubernetesApi, ObjectReference, Resource } from '../kubernetes/api.ts';
import { findUnknownNamespaces } from './find-unknown-namespaces.ts';
import { asObjectLists } from './object-lists.ts';

const namespaces = { vms: 'bosh', disks: 'disks' };
const objects = [{ metadata: { name: 'any' } }];

/** Finds them for an account that may not read namespaces, and may list pods in all of them or not. */
function find(lists: object, mayListAll: boolean): Promise<readonly string[]> {
  const api: Pick<KubernetesApi, 'get' | 'list'> = {
    get: ({ resource, name }: ObjectReference) => Promise.reject(forbidden(resource, name, 'not allowed')),
    list: (resource: Resource) =>
      mayListAll
        ? Promise.resolve({
            apiVersion: 'v1',
            kind: 'PodList',
            metadata: { resourceVersion: '1' },
            items: [],
          })
        : Promise.reject(forbidden(resource, '', 'not allowed')),
  };
  return findUnknownNamespaces(api, namespaces, asObjectLists(lists));
}

test('a namespace with an object exists, also for an account that may not read it', async () => {
  assert.deepEqual(await find({ vmPods: [], diskPods: [], nodes: objects }, true), ['bosh', 'disks']);
  assert.deepEqual(await find({ vmPods: [], diskPods: [], quotas: objects }, true), ['disks']);
  assert.deepEqual(await find({ vmPods: objects, diskPods: objects }, true), []);
});

test('an empty namespace exists if a right in it is not one in all namespaces', async () => {
  assert.deepEqual(await find({ vmPods: [], diskPods: [] }, false), []);
  assert.deepEqual(await find({ vmPods: [], diskPods: undefined }, false), ['disks']);
  assert.deepEqual(await find({}, false), ['bosh', 'disks']);
});
