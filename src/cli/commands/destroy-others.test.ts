import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { journalPath } from '../../../embedded-cluster/api-server/store/read-stored-objects.ts';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { kubeconfigPath } from '../cluster/kubeconfig.ts';
import {
  addObjects,
  recordDeployment,
  smallInstallation,
  type SmallInstallation,
} from '../testing/small-installation.ts';
import { startDestroy } from '../testing/start-destroy.ts';

const claims = 'persistentvolumeclaims';
const own = [
  { resource: 'pods', cid: 'vm-own', kind: 'vm', director: 'mine', deployment: 'hello' },
  { resource: claims, cid: 'disk-own', kind: 'disk', director: 'mine', deployment: 'hello' },
];
const others = [
  { resource: 'pods', cid: 'vm-other', kind: 'vm', director: 'other', deployment: 'second' },
  // A VM whose pod was deleted, a disk without metadata, and a claim of kubectl.
  { resource: 'secrets', cid: 'vm-gone', kind: 'vm', director: 'other' },
  { resource: claims, cid: 'disk-other', kind: 'disk', director: 'other' },
  { resource: claims, cid: 'database' },
  { resource: 'volumesnapshots.snapshot.storage.k8s.io', cid: 'snapshot-other', kind: 'snapshot' },
];

test('destroy --force refuses to remove what the deployment does not own, also while the cluster is stopped', async (t) => {
  const installation = await smallInstallation(t);
  await recordDeployment(installation, { director_id: 'mine' });
  await addObjects(installation.home, [...own, ...others]);
  const before = await installation.leftovers();

  for (const flags of [['--force'], []]) {
    const { exitCode, stderr } = await startDestroy(installation, [], flags).ended;

    assert.equal(exitCode, 1, stderr);
    assert.match(
      stderr,
      /VM 'second\/web\/0' \(vm-other\), VM 'vm-gone', disk 'database', disk 'disk-other', snapshot 'snapshot-other'/,
    );
    assert.match(stderr, /'delete-env' with the manifest .* --all .*\[DESTROY_REFUSED\]/s);
    assert.doesNotMatch(stderr, /own\b(?=')|vm-own|disk-own/);
    assert.deepEqual(await installation.leftovers(), before);
  }

  const { exitCode, stderr } = await startDestroy(installation, [], ['--force', '--all']).ended;
  assert.equal(exitCode, 0, stderr);
  assert.deepEqual(await installation.leftovers(), []);
});

test('destroy --force removes the VM and disk of the deployment without --all', async (t) => {
  const installation = await smallInstallation(t);
  await recordDeployment(installation, { director_id: 'mine' });
  await addObjects(installation.home, own);

  const { exitCode, stderr } = await startDestroy(installation).ended;

  assert.equal(exitCode, 0, stderr);
  assert.deepEqual(await installation.leftovers(), []);
});

test('a refusal names ten of many disks and counts the others', async (t) => {
  const installation = await smallInstallation(t);
  const disks = Array.from({ length: 25 }, (_, index) => ({ resource: claims, cid: `disk-${index}` }));
  await addObjects(installation.home, disks);

  const { stderr } = await startDestroy(installation).ended;

  assert.equal(stderr.match(/disk 'disk-/gu)?.length, 10, stderr);
  assert.match(stderr, /, 15 more, which do not belong to the deployment of '/);
});

const damagedJournal = 'x\na3a6bf43 {}\na3a6bf43 {}\n';

for (const [damage, break_] of [
  ['a damaged journal', (file: string) => writeFile(file, damagedJournal)],
  ['volumes without a journal', (file: string) => rm(file)],
] as const)
  test(`destroy removes a cluster with ${damage} only with --all`, async (t) => {
    const installation = await smallInstallation(t);
    await break_(journalPath(join(installation.home, 'cluster')));
    await writeFile(join(installation.home, 'cluster', 'kubeconfig'), '{damaged');
    const before = await installation.leftovers();

    const refused = await startDestroy(installation).ended;

    assert.equal(refused.exitCode, 1);
    assert.match(refused.stderr, /It is not known whether .* journal.* --all .*\[DESTROY_REFUSED\]/s);
    assert.deepEqual(await installation.leftovers(), before);

    const { exitCode, stderr } = await startDestroy(installation, [], ['--force', '--all']).ended;
    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(await installation.leftovers(), []);
  });

/** Records that a `destroy` has started to remove the cluster. */
async function recordInterruptedDestroy({ home, manifestPath }: SmallInstallation): Promise<void> {
  const files = await DeploymentFiles.find(manifestPath);
  const kubeconfig = kubeconfigPath(join(home, 'cluster'));
  const record = { server: 'https://127.0.0.1:1', kubeconfig, installation_id: 'one' };
  await files.recordCluster({ ...record, being_destroyed: true });
}

test('a destroy that was killed after it removed the journal completes without --all', async (t) => {
  const installation = await smallInstallation(t);
  await rm(journalPath(join(installation.home, 'cluster')));
  await recordInterruptedDestroy(installation);

  const { exitCode, stderr } = await startDestroy(installation).ended;

  assert.equal(exitCode, 0, stderr);
  assert.deepEqual(await installation.leftovers(), []);
});

test('a destroy that was killed does not allow the next one to remove a cluster with a damaged journal', async (t) => {
  const installation = await smallInstallation(t);
  await writeFile(journalPath(join(installation.home, 'cluster')), damagedJournal);
  await recordInterruptedDestroy(installation);
  const before = await installation.leftovers();

  const { exitCode, stderr } = await startDestroy(installation).ended;

  assert.equal(exitCode, 1);
  assert.match(stderr, /It is not known whether .* journal.* --all .*\[DESTROY_REFUSED\]/s);
  assert.deepEqual(await installation.leftovers(), before);
});
