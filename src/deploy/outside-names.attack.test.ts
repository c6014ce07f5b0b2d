import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, readdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createEnv } from './create-env.ts';
import { deleteEnv } from './delete-env.ts';
import { testEnvironment } from './testing/test-environment.ts';

/**
 * Creates a directory beside the workspace with files that a deployer would remove if its paths led there.
 */
async function withVictim(t: TestContext) {
  const environment = await testEnvironment(t);
  const victim = join(environment.directory, 'victim');
  const files = ['file', 'jobs/file', 'tmp/file', 'packages/file'].map((name) => join(victim, name));
  for (const directory of ['jobs', 'tmp', 'packages'])
    await mkdir(join(victim, directory), { recursive: true });
  for (const file of files) await writeFile(file, '');
  const assertWhole = (): void => assert.deepEqual(files.filter(existsSync), files);
  return { ...environment, victim, assertWhole };
}

const hostileIds = ['../../victim', '../../victim/', '..', '.', 'a/../../../victim', 'a\0b', '/'];

test("an installation_id from a pull request's state file does not lead create-env or delete-env out of the workspace", async (t) => {
  const { options, ports, victim, assertWhole } = await withVictim(t);
  for (const id of [...hostileIds, victim]) {
    await writeFile(options.statePath, JSON.stringify({ director_id: 'd', installation_id: id }));
    for (const run of [createEnv, deleteEnv])
      await assert.rejects(run(options, ports), {
        code: 'STATE_INVALID',
        message: /state\.json.*installation_id/,
      });
    assertWhole();
  }
});

test('an installation_id that names a link in the workspace is refused too', async (t) => {
  const { options, ports, victim, assertWhole } = await withVictim(t);
  await mkdir(join(options.workspace, 'installations'), { recursive: true });
  await symlink(victim, join(options.workspace, 'installations', 'linked'));
  await writeFile(options.statePath, JSON.stringify({ director_id: 'd', installation_id: 'linked' }));
  for (const run of [createEnv, deleteEnv])
    await assert.rejects(run(options, ports), { code: 'PATH_OUTSIDE', message: /installations\/linked/ });
  assertWhole();
});

test('an unsafe name of a release or job in the manifest is refused before any removal, and all are reported', async (t) => {
  const { options, ports, cloud, editManifest, assertWhole } = await withVictim(t);
  await createEnv(options, ports);
  await cloud.forgetRequests();
  const depth = '../'.repeat(5);
  await editManifest((text) =>
    text
      .replace('{name: tinyapp, url', `{name: ${depth}victim, url`)
      .replace('{name: app, release: tinyapp}', `{name: ${depth}victim, release: ${depth}victim}`)
      .replace('{name: cpi, release: tinycpi}', '{name: .., release: tinycpi}'),
  );
  for (const run of [createEnv, deleteEnv])
    await assert.rejects(run(options, ports), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'MANIFEST_INVALID');
      for (const path of ['releases[1].name', 'jobs[0].name', 'cloud_provider.template.name'])
        assert.ok(error.message.includes(path), error.message);
      return true;
    });
  assertWhole();
  assert.deepEqual(cloud.calls(), []);
});

test('an installed package that is a link in the workspace is not removed through it', async (t) => {
  const { options, ports, victim, state, assertWhole } = await withVictim(t);
  await createEnv(options, ports);
  const installation = join(options.workspace, 'installations', String((await state())['installation_id']));
  await rename(join(installation, 'packages'), join(installation, 'packages.old'));
  await symlink(victim, join(installation, 'packages'));
  await assert.rejects(createEnv({ ...options, recreate: true }, ports), { code: 'PATH_OUTSIDE' });
  assertWhole();
  assert.equal(await readFile(join(victim, 'file'), 'utf8'), '');
});

test('a workspace that others can write is refused: nothing is installed in it or run from it', async (t) => {
  const { options, ports, cloud } = await testEnvironment(t);
  await mkdir(options.workspace);
  await chmod(options.workspace, 0o777);
  for (const run of [createEnv, deleteEnv])
    await assert.rejects(run(options, ports), {
      code: 'FILE_NOT_TRUSTED',
      message: /chmod go-w '.*workspace'/,
    });
  assert.deepEqual(await readdir(options.workspace), []);
  assert.equal(existsSync(options.statePath), false);
  assert.deepEqual(cloud.vms(), []);
});
