import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { describePermission, requiredPermissions, readRoles } from './required-permissions.ts';

const root = join(import.meta.dirname, '..', '..');
const namespace = 'bosh';

test('a tunnel needs the permissions of its role, and get of pods and Services to resolve a name', async () => {
  const rights = requiredPermissions({ namespace, way: 'tunnel', hasAccount: true }, await readRoles(root));
  assert.deepEqual(rights.map(describePermission).toSorted(), [
    "create pods/portforward in 'bosh'",
    "create serviceaccounts/token in 'bosh'",
    "get pods in 'bosh'",
    "get pods/portforward in 'bosh'",
    "get services in 'bosh'",
    "list endpointslices in 'bosh'",
    "list pods in 'bosh'",
    "list services in 'bosh'",
  ]);
});

test('the permissions of the tunnel are needed only for the tunnel', async () => {
  const rights = requiredPermissions({ namespace, way: 'nodeport', hasAccount: true }, await readRoles(root));
  assert.deepEqual(rights.map(describePermission), ["create serviceaccounts/token in 'bosh'"]);
});
