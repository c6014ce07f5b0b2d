import assert from 'node:assert/strict';
import { chmod, copyFile, mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { mount, unmount } from '../../../embedded-cluster/node/mounts.ts';
import { describeInNamespace } from '../../../embedded-cluster/node/testing/in-namespace.ts';
import { smallInstallation } from '../testing/small-installation.ts';
import { notRoot, startDestroy } from '../testing/start-destroy.ts';

describeInNamespace(import.meta.filename, () => {
  test('destroy removes nothing at all if there is a mount in the workspace', async (t) => {
    const installation = await smallInstallation(t);
    const before = await installation.leftovers();
    const disk = join(installation.home, '..', 'disk');
    const target = join(installation.home, 'workspace', 'downloads');
    await mkdir(disk);
    await mkdir(target);
    await writeFile(join(disk, 'canary'), 'alive');
    await mount('--bind', disk, target);

    const { exitCode, stderr } = await startDestroy(installation).ended;

    assert.equal(await readFile(join(disk, 'canary'), 'utf8'), 'alive');
    assert.equal(exitCode, 1);
    assert.ok(stderr.includes(`still mounted: ${target}`), stderr);
    assert.match(stderr, /\[MOUNT_IN_THE_WAY\]/);
    assert.deepEqual(await installation.leftovers(), before);

    await unmount(target);
    assert.equal((await startDestroy(installation).ended).exitCode, 0);
    assert.deepEqual(await installation.leftovers(), []);
    assert.equal(await readFile(join(disk, 'canary'), 'utf8'), 'alive');
  });

  for (const [who, prefix] of [
    ['root', []],
    ['another user', notRoot],
  ] as const) {
    test(`destroy as ${who} does not remove the cluster if one of its volumes is a mount`, async (t) => {
      const installation = await smallInstallation(t);
      const { home } = installation;
      const directory = join(home, '..', 'folder');
      const target = join(home, 'cluster', 'volumes', 'x');
      await mkdir(directory);
      await mkdir(target);
      await writeFile(join(directory, 'canary'), 'alive');
      await mount('--bind', directory, target);

      const { exitCode, stderr } = await startDestroy(installation, prefix).ended;

      assert.equal(await readFile(join(directory, 'canary'), 'utf8'), 'alive');
      assert.equal(exitCode, 1);
      assert.match(stderr, /\[MOUNT_IN_THE_WAY\]/);
      assert.ok(stderr.includes(target), stderr);
      assert.equal(await readFile(join(home, 'cluster', 'volumes', 'disk'), 'utf8'), 'x');

      await unmount(target);
      assert.equal((await startDestroy(installation, prefix).ended).exitCode, 0);
      assert.deepEqual(await installation.leftovers(), []);
      assert.equal(await readFile(join(directory, 'canary'), 'utf8'), 'alive');
    });
  }

  test('destroy as root runs no program that would cross a mount made at the last moment', async (t) => {
    const installation = await smallInstallation(t);
    const { home } = installation;
    const directory = join(home, '..', 'folder');
    await mkdir(directory);
    await writeFile(join(directory, 'canary'), 'alive');
    const removal = join(home, 'rm');
    const real = await realpath('/bin/rm');
    await copyFile(real, `${removal}.real`);
    const volumes = join(home, 'cluster', 'volumes');
    await writeFile(
      removal,
      `#!/bin/sh\nmount --bind ${directory} ${volumes} || exit\nexec ${removal}.real "$@"\n`,
    );
    await chmod(removal, 0o755);
    await mount('--bind', removal, real);

    const { exitCode, stderr } = await startDestroy(installation).ended;

    await unmount(real, volumes);
    assert.equal(await readFile(join(directory, 'canary'), 'utf8'), 'alive');
    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(await installation.leftovers(), []);
  });
});
