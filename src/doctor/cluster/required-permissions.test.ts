import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  describePermission,
  describePermissions,
  installPermissions,
  permissionsIn,
  readRoles,
} from './required-permissions.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const namespace = 'bosh';

test('a tunnel needs the permissions of its role', async () => {
  const { tunnel } = await readRoles(root);
  assert.deepEqual(permissionsIn(namespace, tunnel).map(describePermission).toSorted(), [
    "create pods/portforward in 'bosh'",
    "get pods in 'bosh'",
    "get pods/portforward in 'bosh'",
    "get services in 'bosh'",
    "list endpointslices in 'bosh'",
    "list pods in 'bosh'",
    "list services in 'bosh'",
  ]);
});

test('rights of the cluster have no namespace, and a user who installs needs each right of the roles', async () => {
  const roles = await readRoles(root);
  const cluster = permissionsIn(namespace, roles.cluster);
  assert.ok(cluster.map(describePermission).includes('get nodes'));
  const disks = permissionsIn('bosh-disks', roles.disks);
  assert.ok(disks.map(describePermission).includes("create pods in 'bosh-disks'"));
  const names = installPermissions(namespace, roles).map(describePermission);
  for (const name of [...permissionsIn(namespace, roles.vms), ...cluster].map(describePermission))
    assert.ok(names.includes(name), name);
  assert.ok(names.includes('create clusterroles'));
});

test('a message names three rights and the number of the others', () => {
  const rights = ['get', 'list', 'watch', 'create', 'delete'].map((verb) => ({
    ...{ verb, group: '', resource: 'pods' },
  }));
  assert.equal(describePermissions(rights), 'get pods, list pods, watch pods and 2 more');
  assert.equal(describePermissions(rights.slice(0, 2)), 'get pods, list pods');
});
