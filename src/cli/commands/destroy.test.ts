import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import {
  chmod,
  copyFile,
  mkdir,
  readFile,
  readdir,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { mount, unmount } from '../../../embedded-cluster/node/mounts.ts';
import { describeInNamespace } from '../../../embedded-cluster/node/testing/in-namespace.ts';
import { acquireLock } from '../../deploy/lock.ts';
import { poll } from '../../platform/poll.ts';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { emptyState } from '../../deploy/state/deployment-state.ts';
import type { RecordedCluster } from '../../deploy/state/recorded-cluster.ts';
import { systemClock } from '../../platform/clock.ts';
import { kubeconfigPath } from '../cluster/kubeconfig.ts';
import { smallInstallation, type SmallInstallation } from '../testing/small-installation.ts';
import { notRoot, startDestroy } from '../testing/start-destroy.ts';

const statePathOf = ({ manifestPath }: SmallInstallation): string =>
  manifestPath.replace(/\.yml$/, '-state.json');

/** Records a VM in the state file without any record of its cluster. */
async function recordVm(installation: SmallInstallation): Promise<void> {
  const statePath = statePathOf(installation);
  const state = { ...emptyState, installation_id: 'one', current_vm_cid: 'vm-1' };
  await writeFile(statePath, JSON.stringify(state));
  await rm(`${statePath}.pending`);
}

const filesOf = (installation: SmallInstallation): DeploymentFiles =>
  new DeploymentFiles(statePathOf(installation));

/** Records a VM in the state file, and that it is on the installation's cluster. */
async function recordCluster(installation: SmallInstallation): Promise<void> {
  await recordVm(installation);
  const server = 'https://127.0.0.1:1';
  const kubeconfig = kubeconfigPath(join(installation.home, 'cluster'));
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'main' },
    contexts: [{ name: 'main', context: { cluster: 'main', user: 'main' } }],
    clusters: [{ name: 'main', cluster: { server } }],
    users: [{ name: 'main', user: { token: 'token' } }],
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  await filesOf(installation).recordCluster({ server, kubeconfig, installation_id: 'one' });
}

describeInNamespace(import.meta.filename, () => {
  test('--force removes cluster, workspace, state and credentials', async (t) => {
    const installation = await smallInstallation(t);

    const { exitCode, stderr } = await startDestroy(installation).ended;

    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(await installation.leftovers(), []);
  });

  test('destroy refuses a missing manifest, because the cluster has the disks of another deployment', async (t) => {
    const installation = await smallInstallation(t);
    const before = await installation.leftovers();
    for (const manifestPath of [`${installation.manifestPath}-typo.yml`, installation.home]) {
      const { exitCode, stderr } = await startDestroy({ ...installation, manifestPath }).ended;

      assert.equal(exitCode, 1, stderr);
      assert.match(
        stderr,
        /There is no manifest '.*'; nothing was removed; name one that exists \[FILE_NOT_FOUND\]/,
      );
      assert.deepEqual(await installation.leftovers(), before);
    }
  });

  test('destroy removes nothing if standard input is not a terminal', async (t) => {
    const installation = await smallInstallation(t);
    const before = await installation.leftovers();

    const { exitCode, stderr } = await startDestroy(installation, [], []).ended;

    assert.equal(exitCode, 1);
    assert.match(stderr, /not a terminal\. Use --force/);
    assert.deepEqual(await installation.leftovers(), before);
  });

  for (const [what, prepare] of [
    ['a VM', recordVm],
    [
      'a disk',
      (installation: SmallInstallation) =>
        writeFile(
          statePathOf(installation),
          JSON.stringify({ ...emptyState, disks: [{ id: 'one', cid: 'disk-1' }] }),
        ),
    ],
    [
      'a requested VM',
      (installation: SmallInstallation) =>
        writeFile(
          `${statePathOf(installation)}.pending`,
          JSON.stringify({ vm: { agent_id: 'agent-1', arguments_sha256: 'x' }, disks: [] }),
        ),
    ],
  ] as const) {
    test(`destroy is refused for ${what} without a record of its cluster`, async (t) => {
      const installation = await smallInstallation(t);
      await prepare(installation);
      const before = await installation.leftovers();

      const { exitCode, stderr } = await startDestroy(installation).ended;

      assert.equal(exitCode, 1);
      assert.match(
        stderr,
        /'(vm|disk|agent)-1'.*'delete-env' with the flags of its create-env deletes it.*\[OTHER_CLUSTER\]/s,
      );
      assert.deepEqual(await installation.leftovers(), before);
    });
  }

  test('destroy ignores the recorded cluster of a previous deployment', async (t) => {
    const installation = await smallInstallation(t);
    await recordCluster(installation);
    const statePath = statePathOf(installation);
    const record = JSON.parse(await readFile(`${statePath}.cluster`, 'utf8')) as RecordedCluster;
    await filesOf(installation).recordCluster({ ...record, installation_id: 'previous' });
    const before = await installation.leftovers();

    const { exitCode, stderr } = await startDestroy(installation).ended;

    assert.equal(exitCode, 1);
    assert.match(stderr, /\[OTHER_CLUSTER\]/);
    assert.deepEqual(await installation.leftovers(), before);
  });

  test('destroy keeps a file of --vars-store, because it may hold other secrets', async (t) => {
    const installation = await smallInstallation(t);
    const shared = join(installation.home, 'shared.yml');
    await writeFile(shared, 'secret');

    const { exitCode, stderr } = await startDestroy(installation, [], ['--force', '--vars-store', shared])
      .ended;

    assert.equal(exitCode, 0, stderr);
    assert.equal(await readFile(shared, 'utf8'), 'secret');
    assert.deepEqual(await installation.leftovers(), [
      installation.manifestPath.replace('.yml', '-creds.yml'),
    ]);
  });

  test('destroy removes the state file that a link names', async (t) => {
    const installation = await smallInstallation(t);
    await recordCluster(installation);
    const statePath = statePathOf(installation);
    const vault = join(installation.home, 'vault');
    await mkdir(vault);
    for (const end of ['', '.cluster', '.cpi', '.digest', '.trace'])
      await rename(`${statePath}${end}`, join(vault, `state.json${end}`));
    await symlink(join(vault, 'state.json'), statePath);

    const { exitCode, stderr } = await startDestroy(installation).ended;

    assert.equal(exitCode, 0, stderr);
    assert.deepEqual([await installation.leftovers(), await readdir(vault)], [[], []]);
  });

  test('destroy removes the credentials only together with the state that they belong to', async (t) => {
    const installation = await smallInstallation(t);
    const { home, manifestPath } = installation;
    const beside = installation.files.filter(
      (path) => path.includes('/manifest-') && !path.endsWith('.cluster'),
    );
    const flags = ['--force', '--state', join(home, 'other.json')];

    assert.equal((await startDestroy(installation, [], flags).ended).exitCode, 0);
    assert.deepEqual(await installation.leftovers(), beside);

    // The record belongs to a deployment whose state file is elsewhere.
    await rm(statePathOf(installation));
    assert.equal((await startDestroy(installation).ended).exitCode, 0);
    assert.deepEqual(await installation.leftovers(), [manifestPath.replace('.yml', '-creds.yml')]);
  });

  test('a destroy that was killed after it removed the cluster completes when it runs again', async (t) => {
    const installation = await smallInstallation(t);
    const { home } = installation;
    await recordCluster(installation);
    // This rm removes the files as usual and then does not exit.
    const removal = join(home, 'rm');
    await copyFile('/bin/rm', `${removal}.real`);
    await writeFile(removal, `#!/bin/sh\n${removal}.real "$@"\necho $$ > ${removal}.pid\nexec sleep 600\n`);
    await chmod(removal, 0o755);
    const program = await realpath('/bin/rm');
    await mount('--bind', removal, program);

    const { child, ended } = startDestroy(installation, notRoot);
    const seen = await poll(async () => existsSync(`${removal}.pid`) || undefined, {
      ...{ clock: systemClock, signal: undefined, timeoutMs: 60_000, maxDelayMs: 100 },
    });
    assert.ok(seen, 'the cluster was never removed');
    child.kill('SIGKILL');
    process.kill(Number(await readFile(`${removal}.pid`, 'utf8')), 'SIGKILL');
    await ended;
    assert.equal(existsSync(join(home, 'cluster')), false);
    await unmount(program);
    assert.equal((await filesOf(installation).readCluster())?.being_destroyed, true);
    const elsewhere = { ...installation, home: join(home, 'elsewhere') };
    assert.match((await startDestroy(elsewhere).ended).stderr, /run it again \[OTHER_CLUSTER\]/);

    const { exitCode, stderr } = await startDestroy(installation).ended;

    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(await installation.leftovers(), []);
  });

  test('destroy removes nothing while another command holds the lock', async (t) => {
    const installation = await smallInstallation(t);
    const before = await installation.leftovers();
    const lock = await acquireLock(join(installation.home, 'lock'), {
      clock: systemClock,
      locks: join(installation.home, 'locks'),
    });
    t.after(() => lock.release());

    const { exitCode, stderr } = await startDestroy(installation).ended;

    assert.equal(exitCode, 1);
    assert.match(stderr, /\[DEPLOYMENT_LOCKED\]/);
    assert.deepEqual(await installation.leftovers(), before);
  });
});
