import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { isProductError } from '../errors/product-error.ts';
import { createEnv } from './create-env.ts';
import { deleteEnv } from './delete-env.ts';
import { DeploymentFiles } from './state/deployment-files.ts';
import { isSameCluster } from './state/recorded-cluster.ts';
import { testEnvironment } from './testing/test-environment.ts';

const here = {
  uid: 'uid-1',
  server: 'https://127.0.0.1:1',
  ca_sha256: 'aa',
  kubeconfig: '/home/a/kubeconfig',
};
const other = {
  uid: 'uid-2',
  server: 'https://127.0.0.1:2',
  ca_sha256: 'bb',
  kubeconfig: '/home/b/kubeconfig',
};

const clusterPath = ({ statePath }: { readonly statePath: string }): string => `${statePath}.cluster`;

test('a state of another cluster is refused before any CPI call, with the remedy', async (t) => {
  const { options, ports, cloud, state } = await testEnvironment(t);
  const { vmCid, diskCid } = await createEnv({ ...options, cluster: here }, ports);
  const before = await state();
  await cloud.forgetRequests();

  await assert.rejects(createEnv({ ...options, cluster: other, recreate: true }, ports), (error: Error) => {
    assert.ok(isProductError(error, 'OTHER_CLUSTER'), error.message);
    const parts = [vmCid, `${diskCid}`, here.uid, here.kubeconfig, other.server, 'BOSH_KUBERNETES_HOME'];
    for (const word of [...parts, options.statePath, clusterPath(options)])
      assert.ok(error.message.includes(word), `${word} is not in: ${error.message}`);
    return true;
  });

  assert.deepEqual(cloud.requests(), []);
  assert.deepEqual(await state(), before);
  assert.equal((await new DeploymentFiles(options.statePath).readCluster())?.uid, here.uid);
  assert.equal((await createEnv({ ...options, cluster: here }, ports)).changed, false);
});

test('a state without a cluster record is treated as belonging to this cluster, which is recorded', async (t) => {
  const { options, ports } = await testEnvironment(t);
  await createEnv(options, ports);
  assert.equal(existsSync(clusterPath(options)), false);

  await createEnv({ ...options, cluster: here }, ports);

  assert.equal((await new DeploymentFiles(options.statePath).readCluster())?.uid, here.uid);
  await assert.rejects(createEnv({ ...options, cluster: other }, ports), { code: 'OTHER_CLUSTER' });
});

test('the cluster record is written before any CPI call', async (t) => {
  const { options, ports, cloud } = await testEnvironment(t);
  await cloud.fail({ method: 'create_vm', kind: 'error' });

  await assert.rejects(createEnv({ ...options, cluster: here }, ports));

  // The leftovers of the stemcell's upload are on that cluster.
  await assert.rejects(createEnv({ ...options, cluster: other }, ports), { code: 'OTHER_CLUSTER' });
});

test('delete-env removes the cluster record, and a state file that the bosh CLI created again has none', async (t) => {
  const { options, ports } = await testEnvironment(t);
  await createEnv({ ...options, cluster: here }, ports);
  const note = await readFile(clusterPath(options), 'utf8');
  await deleteEnv(options, ports);
  assert.equal(existsSync(clusterPath(options)), false);

  // bosh delete-env removes only its own file.
  await writeFile(clusterPath(options), note);
  await createEnv(options, ports);
  await createEnv({ ...options, cluster: other }, ports);

  assert.equal((await new DeploymentFiles(options.statePath).readCluster())?.uid, other.uid);
});

test('a truncated cluster record is refused with the advice to remove it', async (t) => {
  const { options, ports } = await testEnvironment(t);
  await createEnv({ ...options, cluster: here }, ports);
  await writeFile(clusterPath(options), '{');

  await assert.rejects(createEnv({ ...options, cluster: here }, ports), /remove it if .*/);

  await rm(clusterPath(options));
  assert.equal((await createEnv({ ...options, cluster: here }, ports)).changed, false);
});

test('a cluster is identified by its uid, or without one by address and authority', () => {
  const { uid: _, ...unread } = here;
  assert.equal(isSameCluster(here, { ...other, uid: here.uid }), true, 'reached another way');
  assert.equal(isSameCluster(here, { ...here, uid: other.uid }), false, 'made anew at the same address');
  assert.equal(isSameCluster(unread, here), true);
  assert.equal(isSameCluster(unread, { ...here, ca_sha256: 'cc' }), false);
  assert.equal(isSameCluster(unread, { ...unread, server: other.server }), false);
});
