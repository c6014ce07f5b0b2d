import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { foreignSettings } from './foreign-cluster.ts';
import { askedCluster } from './open-cluster.ts';

let path = '';
before(async () => {
  path = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-path-'));
  await writeFile(join(path, 'kubectl'), '');
  await chmod(join(path, 'kubectl'), 0o755);
});
after(() => rm(path, { recursive: true }));

test('KUBECONFIG alone names no cluster for a suite that makes namespaces', () => {
  const cluster = askedCluster({ KUBECONFIG: '/k', CONFORMANCE_STEMCELL: 'i', PATH: path });
  assert.equal(cluster.kind, 'none');
});

test('a foreign cluster needs a stemcell and kubectl, and the error names them', () => {
  const requestedWith = (more: NodeJS.ProcessEnv): unknown =>
    askedCluster({ BOSH_KUBERNETES_TEST_KUBECONFIG: '/k', ...more });
  assert.match(JSON.stringify(requestedWith({ PATH: path })), /needs CONFORMANCE_STEMCELL/u);
  assert.match(JSON.stringify(requestedWith({ CONFORMANCE_STEMCELL: 'i', PATH: '/none' })), /needs kubectl/u);
  assert.match(
    JSON.stringify(requestedWith({ CONFORMANCE_STEMCELL: 'i', PATH: path })),
    /"kind":"kubeconfig"/u,
  );
});

test('settings that are not given have the defaults of the cluster', () => {
  assert.deepEqual(foreignSettings('/k', { CONFORMANCE_STEMCELL: 'i', PATH: path }), {
    kubeconfig: '/k',
    kubeletRootDirectory: '/var/lib/kubelet',
    stemcells: { privileged: 'i' },
    storageClass: undefined,
    waitingStorageClass: undefined,
    addresses: [],
  });
});
