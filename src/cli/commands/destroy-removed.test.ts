import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { kubeconfigPath } from '../cluster/kubeconfig.ts';
import { assertClusterNotRemoved } from '../cluster/removed-cluster.ts';
import {
  addObjects,
  recordDeployment,
  smallInstallation,
  type SmallInstallation,
} from '../testing/small-installation.ts';
import { startDestroy } from '../testing/start-destroy.ts';

const uid = 'uid-of-the-first-cluster';

/** Records a VM on the cluster of the installation, and gives the cluster another uid if it has one. */
async function recordOnEarlierCluster(
  { home, manifestPath }: SmallInstallation,
  now: 'removed' | 'replaced' | 'the same',
): Promise<DeploymentFiles> {
  const files = await DeploymentFiles.find(manifestPath);
  await recordDeployment({ manifestPath }, { current_vm_cid: 'vm-1' });
  const kubeconfig = kubeconfigPath(join(home, 'cluster'));
  await files.recordCluster({ uid, server: 'https://127.0.0.1:1', kubeconfig, installation_id: 'one' });
  if (now === 'removed') await rm(join(home, 'cluster'), { recursive: true });
  else {
    const found = now === 'replaced' ? 'uid-of-the-second-cluster' : uid;
    await addObjects(home, [{ resource: 'namespaces', cid: 'kube-system', uid: found }]);
  }
  return files;
}

test('destroy removes the files of a deployment whose cluster was destroyed with another manifest', async (t) => {
  const installation = await smallInstallation(t);
  await recordOnEarlierCluster(installation, 'removed');

  const { exitCode, stderr } = await startDestroy(installation).ended;

  assert.equal(exitCode, 0, stderr);
  assert.deepEqual(await installation.leftovers(), []);
});

test('destroy keeps the next cluster of the folder, and removes the files of a deployment on the earlier one', async (t) => {
  const installation = await smallInstallation(t);
  await recordOnEarlierCluster(installation, 'replaced');
  const disk = { resource: 'persistentvolumeclaims', cid: 'disk-2', kind: 'disk' };
  await addObjects(installation.home, [disk]);

  const { exitCode, stdout, stderr } = await startDestroy(installation).ended;

  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /is another one, which stays/);
  assert.deepEqual(
    await installation.leftovers(),
    installation.files.filter((path) => path.startsWith(installation.home)),
  );
});

for (const now of ['removed', 'replaced'] as const)
  test(`up is refused after the cluster was ${now}, with the command that removes the files`, async (t) => {
    const installation = await smallInstallation(t);
    const { home, manifestPath } = installation;
    const files = await recordOnEarlierCluster(installation, now);

    await assert.rejects(
      assertClusterNotRemoved(files, join(home, 'cluster'), { manifestPath }),
      ({ message }: Error) => {
        assert.match(message, /'vm-1' .*that cluster no longer exists/);
        assert.ok(message.includes(`'bosh-kubernetes destroy ${manifestPath}'`), message);
        assert.equal(message.includes('is another one'), now === 'replaced');
        return true;
      },
    );
  });

test('a deployment on the cluster that exists, or on that of another folder, is not refused', async (t) => {
  const installation = await smallInstallation(t);
  const { home, manifestPath } = installation;
  const files = await recordOnEarlierCluster(installation, 'the same');

  for (const folder of [home, join(home, 'other')])
    await assertClusterNotRemoved(files, join(folder, 'cluster'), { manifestPath });
});

test('destroy of a deployment on the cluster of another folder says plainly that there is none here', async (t) => {
  const installation = await smallInstallation(t);
  await recordOnEarlierCluster(installation, 'the same');
  const elsewhere = { ...installation, home: join(installation.home, 'elsewhere') };

  const { exitCode, stderr } = await startDestroy(elsewhere).ended;

  assert.equal(exitCode, 1);
  assert.match(stderr, /, and there is no embedded cluster here; nothing was changed\..*\[OTHER_CLUSTER\]/s);
});

test('destroy without a manifest removes a cluster without VMs and disks', async (t) => {
  const { home } = await smallInstallation(t);

  const { exitCode, stdout, stderr } = await startDestroy({ home }).ended;

  assert.deepEqual([exitCode, stdout], [0, 'Destroyed.\n'], stderr);
  assert.equal(existsSync(join(home, 'cluster')), false);
});

test('destroy without a manifest names the disks of the cluster and removes them only with --all', async (t) => {
  const installation = await smallInstallation(t);
  const { home } = installation;
  const disk = { resource: 'persistentvolumeclaims', cid: 'disk-2', kind: 'disk' };
  await addObjects(home, [disk]);
  const before = await installation.leftovers();

  const { exitCode, stderr } = await startDestroy({ home }).ended;

  assert.equal(exitCode, 1);
  assert.match(stderr, /has disk 'disk-2',.*'delete-env' with the manifest.*--all.*\[DESTROY_REFUSED\]/s);
  assert.deepEqual(await installation.leftovers(), before);
  assert.equal((await startDestroy({ home }, [], ['--force', '--all']).ended).exitCode, 0);
  assert.equal(existsSync(join(home, 'cluster')), false);
});

test('destroy says if there is nothing to remove', async (t) => {
  const installation = await smallInstallation(t);
  assert.equal((await startDestroy(installation).ended).stdout, 'Destroyed.\n');

  const { exitCode, stdout, stderr } = await startDestroy(installation).ended;

  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^There was nothing to remove: /);
  assert.equal((await startDestroy({ home: installation.home }).ended).exitCode, 1);
  assert.ok(existsSync(dirname(installation.home)));
});
