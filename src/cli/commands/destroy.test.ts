import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { mount, unmount } from '../../cluster/node/mounts/mount-command.ts';
import { describeInNamespace } from '../../cluster/node/testing/in-namespace.ts';
import { systemClock } from '../../deploy/clock.ts';
import { acquireLock } from '../../deploy/lock.ts';
import { smallInstallation, type SmallInstallation } from '../testing/small-installation.ts';

const main = join(import.meta.dirname, '..', 'main.ts');

function destroy(
  { home, manifestPath }: SmallInstallation,
  ...flags: readonly string[]
): Promise<{ exitCode: number | null; stderr: string }> {
  const child = spawn(process.execPath, [main, 'destroy', manifestPath, ...flags], {
    env: { PATH: process.env['PATH'], BOSH_KUBERNETES_HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said = text(child.stderr);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode) => void said.then((stderr) => resolve({ exitCode, stderr }), reject));
  });
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
