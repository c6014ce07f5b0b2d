import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { mount, unmount } from '../../cluster/node/mounts/mount-command.ts';
import { describeInNamespace } from '../../cluster/node/testing/in-namespace.ts';
import { systemClock } from '../../deploy/clock.ts';
import { acquireLock } from '../../deploy/lock.ts';
import { poll } from '../../deploy/poll.ts';
import { writeClusterNote } from '../../deploy/state/cluster-note.ts';
import { emptyState } from '../../deploy/state/deployment-state.ts';
import { builtCommandLine } from '../built-command-line.ts';
import { kubeconfigPath } from '../connect.ts';
import { smallInstallation, type SmallInstallation } from '../testing/small-installation.ts';

const main = builtCommandLine(join(import.meta.dirname, '..', '..', '..'));

interface Ended {
  readonly exitCode: number | null;
  readonly stderr: string;
}

function start(
  { home, manifestPath }: SmallInstallation,
  ...flags: readonly string[]
): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [main, 'destroy', manifestPath, ...flags], {
    env: { PATH: process.env['PATH'], BOSH_KUBERNETES_HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said = text(child.stderr);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode) => void said.then((stderr) => resolve({ exitCode, stderr }), reject));
  });
  return { child, ended };
}

function destroy(installation: SmallInstallation, ...flags: readonly string[]): Promise<Ended> {
  return start(installation, ...flags).ended;
}

/** A state with a VM, and the note that it is on the installation's cluster. */
async function noteCluster({ home, manifestPath }: SmallInstallation): Promise<void> {
  const statePath = manifestPath.replace(/\.yml$/, '-state.json');
  const state = { ...emptyState, installation_id: 'one', current_vm_cid: 'vm-1' };
  await writeFile(statePath, JSON.stringify(state));
  await rm(`${statePath}.pending`);
  const server = 'https://127.0.0.1:1';
  const kubeconfig = kubeconfigPath(join(home, 'cluster'));
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'main' },
    contexts: [{ name: 'main', context: { cluster: 'main', user: 'main' } }],
    clusters: [{ name: 'main', cluster: { server } }],
    users: [{ name: 'main', user: { token: 'token' } }],
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  await writeClusterNote(statePath, { server, kubeconfig, installation_id: 'one' });
}

describeInNamespace(import.meta.filename, () => {
  test('--force removes cluster, workspace, state and credentials', async (t) => {
    const installation = await smallInstallation(t);

    const { exitCode, stderr } = await destroy(installation, '--force');

    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(await installation.left(), []);
  });

  test('where nobody can be asked nothing is removed', async (t) => {
    const installation = await smallInstallation(t);
    const before = await installation.left();

    const { exitCode, stderr } = await destroy(installation);

    assert.equal(exitCode, 1);
    assert.match(stderr, /not a terminal\. Say --force/);
    assert.deepEqual(await installation.left(), before);
  });

  test('a mount in the workspace: nothing is removed, neither of it nor of the rest', async (t) => {
    const installation = await smallInstallation(t);
    const before = await installation.left();
    const disk = join(installation.home, '..', 'disk');
    const target = join(installation.home, 'workspace', 'downloads');
    await mkdir(disk);
    await mkdir(target);
    await writeFile(join(disk, 'canary'), 'alive');
    await mount('--bind', disk, target);

    const { exitCode, stderr } = await destroy(installation, '--force');

    assert.equal(await readFile(join(disk, 'canary'), 'utf8'), 'alive');
    assert.equal(exitCode, 1);
    assert.ok(stderr.includes(`still mounted: ${target}`), stderr);
    assert.match(stderr, /\[MOUNT_IN_THE_WAY\]/);
    assert.deepEqual(await installation.left(), before);

    await unmount(target);
    assert.equal((await destroy(installation, '--force')).exitCode, 0);
    assert.deepEqual(await installation.left(), []);
    assert.equal(await readFile(join(disk, 'canary'), 'utf8'), 'alive');
  });

  test('killed when its cluster is gone, it ends when run again', async (t) => {
    const installation = await smallInstallation(t);
    const { home } = installation;
    await noteCluster(installation);
    // removes as ever, and then does not come back
    const removal = join(home, 'rm');
    await copyFile('/bin/rm', `${removal}.real`);
    await writeFile(removal, `#!/bin/sh\n${removal}.real "$@"\necho $$ > ${removal}.pid\nexec sleep 600\n`);
    await chmod(removal, 0o755);
    await mount('--bind', removal, '/bin/rm');

    const { child, ended } = start(installation, '--force');
    const seen = await poll(async () => existsSync(`${removal}.pid`) || undefined, {
      ...{ clock: systemClock, signal: undefined, budget: 60_000, longestPause: 100 },
    });
    assert.ok(seen, 'the cluster was never removed');
    child.kill('SIGKILL');
    process.kill(Number(await readFile(`${removal}.pid`, 'utf8')), 'SIGKILL');
    await ended;
    assert.equal(existsSync(join(home, 'cluster')), false);
    await unmount('/bin/rm');

    const { exitCode, stderr } = await destroy(installation, '--force');

    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(await installation.left(), []);
  });

  test('while another command holds the lock nothing is removed', async (t) => {
    const installation = await smallInstallation(t);
    const before = await installation.left();
    const lock = await acquireLock(join(installation.home, 'lock'), systemClock);
    t.after(() => lock.release());

    const { exitCode, stderr } = await destroy(installation, '--force');

    assert.equal(exitCode, 1);
    assert.match(stderr, /\[DEPLOYMENT_LOCKED\]/);
    assert.deepEqual(await installation.left(), before);
  });
});
