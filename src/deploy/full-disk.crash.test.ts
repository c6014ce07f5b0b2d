import assert from 'node:assert/strict';
import { spawnSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createEnv } from './create-env.ts';
import { testEnvironment } from './testing/test-environment.ts';

const program = join(dirname(fileURLToPath(import.meta.url)), 'testing/deploy-process.ts');
const unshare = ['unshare', '--mount', ...(process.getuid?.() === 0 ? [] : ['--map-root-user'])];
const skip =
  spawnSync(unshare[0] ?? '', [...unshare.slice(1), 'true']).status === 0 ? false : 'needs unshare --mount';

/**
 * Runs on a small file system that fills up during the run, lists the names of its files, and runs again with
 * free space.
 */
const script = `
mount -t tmpfs -o size="$6" tmpfs "$1" || exit 99
"$2" "$3" "$4"; echo "first run: $?"
ls -A "$1" | grep -v filler
rm -f "$1/filler"
exec "$2" "$3" "$5"`;

test(
  'after a full disk at any step the error names the file, no data is lost, and the next run converges',
  { skip },
  async (t) => {
    const environment = await testEnvironment(t);
    const { options, ports, cloud, directory } = environment;
    // The CPI is installed first, so that the run writes only the files beside the state file.
    await createEnv(options, ports);
    for (const step of ['Creating VM', 'Creating disk', 'Attaching disk']) {
      await t.test(`a full disk at '${step}'`, async () => {
        for (const kind of ['vms', 'disks', 'stemcells'])
          await rm(join(directory, 'cloud', kind), { recursive: true, force: true });
        const small = join(directory, step);
        await mkdir(small);
        const own = {
          ...options,
          statePath: join(small, 'state.json'),
          varsStorePath: join(small, 'vars.yml'),
        };
        const args = [{ ...own, fillAt: step }, own].map((wish) => JSON.stringify(wish));
        const command = [
          ...unshare.slice(1),
          'sh',
          '-c',
          script,
          'sh',
          small,
          process.execPath,
          program,
          ...args,
          '64k',
        ];
        const child = spawn(unshare[0] ?? '', command, { env: ports.environment });
        const [out, error, [code]] = await Promise.all([
          text(child.stdout),
          text(child.stderr),
          once(child, 'close'),
        ]);

        assert.equal(code, 0, error);
        assert.match(out, /first run: 1\n/);
        assert.match(
          error,
          new RegExp(`File '${small}/state\\.json[.a-z]*' cannot be written and was not changed`),
        );
        assert.doesNotMatch(out, /\.new$|\.lock/m, 'no part of a file is left');
        assert.deepEqual([cloud.vms().length, cloud.disks().length], [1, 1]);
        assert.deepEqual(cloud.attachedDisks(), cloud.disks());
      });
    }
  },
);

test(
  'after a full workspace at any step the error names a path in it, and the next run converges',
  { skip },
  async (t) => {
    const { options, ports, directory } = await testEnvironment(t);
    for (const step of [
      'Started validating',
      "Compiling package 'base",
      'Installing packages',
      'Rendering job',
    ]) {
      for (const kind of ['vms', 'disks', 'stemcells'])
        await rm(join(directory, 'cloud', kind), { recursive: true, force: true });
      const small = join(directory, step.replaceAll(/\W/g, '-'));
      await mkdir(small);
      const own = { ...options, statePath: join(small, 'state.json'), workspace: join(small, 'workspace') };
      const args = [{ ...own, fillAt: step }, own].map((wish) => JSON.stringify(wish));
      const child = spawn(
        unshare[0] ?? '',
        [...unshare.slice(1), 'sh', '-c', script, 'sh', small, process.execPath, program, ...args, '4m'],
        { env: ports.environment },
      );
      const [out, error, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ]);
      assert.match(out, /first run: 1\n/, step);
      assert.match(
        error,
        new RegExp(`no space left on device, \\w+ '${small}/|^File '${small}/|${small}/.*No space`, 'mi'),
        step,
      );
      assert.equal(code, 0, error);
    }
  },
);
