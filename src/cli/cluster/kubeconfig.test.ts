import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { bootstrapCluster } from '../../../embedded-cluster/api-server/bootstrap.ts';
import { openLocalApi } from '../../../embedded-cluster/api-server/local-api.ts';
import { isSameCluster, type ClusterIdentity } from '../../deploy/state/recorded-cluster.ts';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import { identifyCluster } from './kubeconfig.ts';

const access = { server: 'https://127.0.0.1:6443', ca: 'PEM', namespace: 'bosh' };

async function identityIn(t: TestContext, directory: string): Promise<ClusterIdentity> {
  const api = await openLocalApi({ directory });
  t.after(() => rm(directory, { recursive: true, force: true }));
  await bootstrapCluster(api);
  return identifyCluster(api, access, '/kubeconfig');
}

test('two clusters at one address differ by the uid of their kube-system namespaces', async (t) => {
  const make = (): Promise<string> => mkdtemp(join(tmpdir(), 'bosh-kubernetes-cli-'));

  const one = await identityIn(t, await make());
  const other = await identityIn(t, await make());

  assert.match(one.uid ?? '', /^[0-9a-f-]{36}$/);
  assert.equal(isSameCluster(one, other), false);
});

test('a cluster is identified by address and authority if the role may not read kube-system, and other failures are errors', async () => {
  const failing = (code: number): { get(): Promise<never> } => ({
    get: async () => {
      throw new ApiError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code });
    },
  });

  const identity = await identifyCluster(failing(403), access, '/kubeconfig');

  assert.equal(identity.uid, undefined);
  assert.equal(identity.server, access.server);
  assert.match(identity.ca_sha256 ?? '', /^[0-9a-f]{64}$/);
  await assert.rejects(identifyCluster(failing(500), access, '/kubeconfig'), { code: 500 });
});
