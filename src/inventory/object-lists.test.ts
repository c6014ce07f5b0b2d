import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forbidden } from '../../embedded-cluster/api-server/errors/status-errors.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import { readLists } from './object-lists.ts';

test('a kind that the cluster does not have is an empty list, also for an account that may not list it', async () => {
  const api: Pick<KubernetesApi, 'list' | 'groups'> = {
    list: (resource) => Promise.reject(forbidden(resource, '', 'it is not allowed')),
    groups: () => Promise.resolve(['networking.k8s.io']),
  };

  const lists = await readLists(api, { vms: 'bosh', disks: 'bosh' }, [
    'vmPods',
    'policies',
    'definitions',
    'snapshots',
  ]);

  assert.deepEqual(
    [lists.vmPods, lists.policies, lists.definitions, lists.snapshots],
    [undefined, undefined, [], []],
  );
});
