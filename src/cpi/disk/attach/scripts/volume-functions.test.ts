import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runCommand } from '../../../../../embedded-cluster/node/command.ts';
import { describeInNamespace } from '../../../../../embedded-cluster/node/testing/in-namespace.ts';
import { volumeFunctions } from './volume-functions.ts';

/**
 * The functions of the attachment pods' scripts that need nothing but mounts: the sh that is PID 1 here
 * stands for the node's init.
 */
describeInNamespace(import.meta.filename, () => {
  /** Makes a node that has a file system, the source of a static volume, at `place`, too. */
  async function nodeWithOwn(t: TestContext): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-volume-'));
    t.after(async () => {
      await runCommand('umount', ['--lazy', folder]);
      await rm(folder, { recursive: true });
    });
    const script = `set -e
      mount -t tmpfs none "$1"; cd "$1"; mkdir volume place elsewhere
      mount -t tmpfs none volume; mkdir volume/store
      mount --bind volume place`;
    const made = await runCommand('sh', ['-c', script, 'make', folder]);
    assert.equal(made.exitCode, 0, made.stderr);
    return folder;
  }

  /** Starts a process in a mount namespace of its own, after it has run `mounting` there. */
  async function beside(t: TestContext, folder: string, mounting: string): Promise<void> {
    const script = `cd "$1" && ${mounting} && echo ready && exec sleep 1000`;
    const apart = ['--mount', '--propagation', 'private', 'sh', '-c', script, 'beside', folder];
    const child = spawn('unshare', apart, { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill());
    assert.equal(String((await once(child.stdout, 'data'))[0]), 'ready\n');
  }

  async function usersOf(folder: string): Promise<string> {
    const script = `${volumeFunctions}
users "$(mounted_at "$3/volume")"`;
    const apart = ['--mount', '--propagation', 'private', 'sh', '-c', script];
    const { exitCode, stdout, stderr } = await runCommand('unshare', [
      ...apart,
      'users',
      'disk-1',
      'uid',
      folder,
    ]);
    assert.equal(exitCode, 0, stderr);
    return stdout.replaceAll(/process \d+/gu, 'process N').replaceAll(folder, '');
  }

  test("the node's own mounts of a volume, which every process sees that left it alone, are no use of it", async (t) => {
    const folder = await nodeWithOwn(t);
    await beside(t, folder, 'true');
    assert.equal(await usersOf(folder), '.\n');
  });

  for (const [where, what] of [
    ['place', 'volume/store'],
    ['elsewhere', 'volume'],
  ]) {
    test(`a VM that has ${what} mounted at /${where} uses it`, async (t) => {
      const folder = await nodeWithOwn(t);
      await beside(t, folder, `mount --bind ${what} ${where}`);
      assert.equal(await usersOf(folder), `process N has it mounted at /${where}\n.\n`);
    });
  }
});
