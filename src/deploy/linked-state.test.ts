import assert from 'node:assert/strict';
import { lstat, mkdir, readFile, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createEnv } from './create-env.ts';
import { deleteEnv } from './delete-env.ts';
import { acquireLock } from './lock.ts';
import { testEnvironment } from './testing/test-environment.ts';

const cluster = { uid: 'uid-1', server: 'https://127.0.0.1:1', kubeconfig: '/home/a/kubeconfig' };

/** Creates a deployment whose state file is reached by its own name and by a link beside the manifest. */
async function linked(t: TestContext) {
  const environment = await testEnvironment(t);
  const { directory, options } = environment;
  const vault = join(directory, 'vault');
  await mkdir(vault);
  const real = join(vault, 'state.json');
  const link = options.statePath;
  await symlink('vault/state.json', link);
  const current = async (): Promise<unknown> =>
    (JSON.parse(await readFile(real, 'utf8')) as Record<string, unknown>)['current_vm_cid'];
  return { ...environment, vault, real, link, current };
}

test('a linked state file is written at its target, and both names continue from it', async (t) => {
  const { options, ports, vault, real, link, current } = await linked(t);
  await createEnv({ ...options, statePath: real, cluster }, ports);

  const { vmCid } = await createEnv({ ...options, cluster, recreate: true }, ports);

  assert.ok((await lstat(link)).isSymbolicLink());
  assert.equal(await current(), vmCid);
  assert.deepEqual(await readdir(vault), [
    ...['state.json', 'state.json.cluster', 'state.json.cpi', 'state.json.digest'],
  ]);
  assert.equal((await createEnv({ ...options, statePath: real, cluster }, ports)).changed, false);
});

test('a link to a missing state file creates it at its target, and delete-env removes it', async (t) => {
  const { options, ports, cloud, vault, link, current } = await linked(t);

  const { vmCid } = await createEnv(options, ports);

  assert.ok((await lstat(link)).isSymbolicLink());
  assert.equal(await current(), vmCid);
  assert.equal((await deleteEnv(options, ports)).deleted, true);
  assert.deepEqual([await readdir(vault), cloud.vms()], [[], []]);
  await assert.rejects(stat(link), { code: 'ENOENT' });
});

test('two names of one state file share one lock', async (t) => {
  const { options, ports, real } = await linked(t);
  const lock = await acquireLock(real, { clock: ports.clock, locks: join(options.workspace, 'locks') });
  t.after(() => lock.release());

  await assert.rejects(createEnv(options, ports), { code: 'DEPLOYMENT_LOCKED' });
});
