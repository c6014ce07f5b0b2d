import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { bootstrapCluster } from '../../../embedded-cluster/api-server/bootstrap.ts';
import { openLocalApi } from '../../../embedded-cluster/api-server/local-api.ts';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { namespaces, pods } from '../../kubernetes/resources.ts';
import { findVm } from './find-resources.ts';

/** Returns an API with the VM `vm-1` in the namespace `batch`, and a kubeconfig with the namespace `bosh`. */
async function makeApi(t: TestContext): Promise<KubernetesApi> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-cli-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const api = await openLocalApi({ directory });
  await bootstrapCluster(api);
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'batch' } });
  await api.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'vm-1', namespace: 'batch' },
    spec: { containers: [{ name: 'vm', image: 'any' }], automountServiceAccountToken: false },
  } as never);
  return api;
}

test('a VM is found in the namespace and the context of its CPI, and a deleted VM is lost', async (t) => {
  const api = await makeApi(t);

  assert.equal(await findVm(api, 'bosh', 'vm-1'), 'here');
  assert.equal(await findVm(api, 'bosh', 'a:b:vm-1'), 'here');
  assert.equal(await findVm(api, 'bosh', 'vm-2'), 'lost');
});

test('a VM whose context is not in the kubeconfig is in an unknown state', async (t) => {
  assert.equal(await findVm(await makeApi(t), 'bosh', 'far:vm-2'), 'unknown');
});

test('with a role for one namespace the search covers that namespace, and other failures are errors', async (t) => {
  const api = await makeApi(t);
  const failing = (code: number): Pick<KubernetesApi, 'list'> => ({
    list: async (resource, query) => {
      if (query?.namespace !== undefined) return api.list(resource, query);
      throw new ApiError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code });
    },
  });

  assert.equal(await findVm(failing(403), 'batch', 'vm-1'), 'here');
  assert.equal(await findVm(failing(403), 'bosh', 'vm-1'), 'lost');
  await assert.rejects(findVm(failing(500), 'batch', 'vm-1'), ApiError);
});
