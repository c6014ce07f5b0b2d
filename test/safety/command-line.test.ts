import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { mainModulePath } from '../../src/cli/installation.ts';
import { checkout } from '../support/embedded-environment.ts';
import { killHard, mountsOf, processesOf } from '../support/machine.ts';
import { missing } from './safety-host.ts';

const address = '127.64.77.250';

test(
  'up, kill -9, up, stop and destroy leave what lies beside the cluster',
  { skip: missing ?? false },
  async (t) => {
    const directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-up-')));
    const home = join(directory, 'home');
    await mkdir(home);
    const manifest = join(directory, 'manifest.yml');
    await writeFile(manifest, await exampleManifest());
    const canaries = [directory, home].map((parent) => join(parent, 'canary'));
    for (const path of canaries) await writeFile(path, 'alive');
    t.after(async () => {
      await command('destroy', manifest, '--force', '--all');
      await rm(directory, { recursive: true });
    });

    const url = await succeed('up', manifest);
    assert.match(await (await fetch(url)).text(), /Hello/);
    assert.equal((await stat(join(home, 'cluster'))).mode & 0o077, 0, 'other users reach the volumes');
    const old = await processesOf(directory);
    assert.ok(old.length > 3);
    for (const { pid } of old) killHard(pid);
    await assertCanaries();
    assert.equal(await succeed('up', manifest), url);
    await succeed('stop');
    assert.deepEqual(await processesOf(directory), []);
    assert.deepEqual(await mountsOf(directory), []);
    await assertCanaries();
    await succeed('destroy', manifest, '--force');
    assert.equal(existsSync(join(home, 'cluster')), false);
    assert.deepEqual(await processesOf(directory), []);
    await assertCanaries();
    assert.ok((await readdir(join(checkout, 'dist', 'runtime'))).includes('agent.cjs'));

    /** Returns the last line of the output. */
    async function succeed(...args: string[]): Promise<string> {
      const { code, output } = await command(...args);
      assert.equal(code, 0, output);
      return output.trimEnd().split('\n').at(-1) ?? '';
    }

    function command(...args: string[]): Promise<{ code: number; output: string }> {
      const main = mainModulePath(checkout);
      const environment = { PATH: process.env['PATH'], HOME: directory, BOSH_KUBERNETES_HOME: home };
      const options = { cwd: directory, env: environment, timeout: 120_000 };
      return new Promise((resolve, reject) => {
        execFile(
          process.execPath,
          ['--disable-warning=ExperimentalWarning', main, ...args],
          options,
          (error, stdout, stderr) => {
            if (error !== null && typeof error.code !== 'number') reject(error);
            else resolve({ code: error === null ? 0 : Number(error.code), output: stderr + stdout });
          },
        );
      });
    }

    async function assertCanaries(): Promise<void> {
      for (const path of canaries) assert.equal(await readFile(path, 'utf8'), 'alive');
    }
  },
);

/** Returns the example with the archives of this checkout and an address of this suite. */
async function exampleManifest(): Promise<string> {
  const text = await readFile(join(checkout, 'examples', 'hello', 'manifest.yml'), 'utf8');
  return text
    .replaceAll('file://../../dist/', `file://${checkout}/dist/`)
    .replaceAll('127.64.0.10', address)
    .replaceAll('127.64.0.', '127.64.77.');
}
