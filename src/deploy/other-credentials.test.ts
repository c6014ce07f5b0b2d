import assert from 'node:assert/strict';
import { access, readFile, rm, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { createEnv } from './create-env.ts';
import { deleteEnv } from './delete-env.ts';
import { killedRun } from './testing/killed-run.ts';
import { testEnvironment, type TestEnvironment } from './testing/test-environment.ts';

/** The fake CPI reads only the properties that it knows. The others are those of our CPI. */
const kubernetes = (token: string, server = 'https://a'): string =>
  `kubernetes: {server: '${server}', token: ${token}}`;

async function deployed(world: TestEnvironment): Promise<string> {
  await world.editManifest((text) =>
    text.replace('properties: {runtime', `properties: {${kubernetes('one')}, runtime`),
  );
  const { vmCid } = await createEnv(world.options, world.ports);
  await world.cloud.forgetRequests();
  return vmCid;
}

const edit = ({ editManifest }: TestEnvironment, token: string, server?: string): Promise<void> =>
  editManifest((text) => text.replace(/kubernetes: \{.*?\}/, kubernetes(token, server)));

test("a new token of the CPI creates no new VM, and keeps the bosh CLI's state file unchanged", async (t) => {
  const world = await testEnvironment(t);
  const { options, ports, cloud, state } = world;
  const vmCid = await deployed(world);
  const before = await state();

  for (const token of ['two', 'three']) {
    await edit(world, token);
    const { changed, vmCid: same } = await createEnv(options, ports);

    assert.deepEqual([changed, same, cloud.vms(), await state()], [false, vmCid, [vmCid], before]);
  }
  assert.deepEqual(cloud.calls(), ['has_vm', 'has_vm']);

  await edit(world, 'three', 'https://b');
  assert.equal((await createEnv(options, ports)).changed, true);
  await deleteEnv(options, ports);
  await assert.rejects(access(`${options.statePath}.digest`), { code: 'ENOENT' });
});

test('the whole manifest counts if no record shows what was deployed', async (t) => {
  const world = await testEnvironment(t);
  const { options, ports, state } = world;
  const note = `${options.statePath}.digest`;
  await deployed(world);

  await t.test('the state file comes from the bosh CLI or an earlier version', async () => {
    await rm(note);
    await edit(world, 'two');
    assert.equal((await createEnv(options, ports)).changed, true);
  });

  await t.test('the bosh CLI has recorded another manifest since the digest record', async () => {
    await writeFile(
      options.statePath,
      JSON.stringify({ ...(await state()), current_manifest_sha: 'f'.repeat(128) }),
    );
    await edit(world, 'three');
    assert.equal((await createEnv(options, ports)).changed, true);
  });

  await t.test('the previous deploy was killed', async () => {
    await world.cloud.fail({ method: 'attach_disk', kind: 'kill-after' });
    await killedRun(world, { recreate: true });
    assert.equal((await state())['current_manifest_sha'], '');
    // The state that a run leaves if it is killed between its last two writes.
    assert.ok(JSON.parse(await readFile(note, 'utf8')));
    await edit(world, 'four');
    assert.equal((await createEnv(options, ports)).changed, true);
  });

  await t.test('a truncated digest record is refused by name', async () => {
    await writeFile(note, '{');
    await edit(world, 'five');
    await assert.rejects(createEnv(options, ports), {
      code: 'STATE_INVALID',
      message: /\.digest'.*remove it/,
    });
  });
});

test('a missing VM without a disk is created again also after a new token', async (t) => {
  const world = await testEnvironment(t);
  const { options, ports, directory } = world;
  await world.editManifest((text) => text.replace('  persistent_disk_pool: disks\n', ''));
  const vmCid = await deployed(world);
  await edit(world, 'two');
  await createEnv(options, ports);
  await rm(`${directory}/cloud/vms`, { recursive: true });

  assert.notEqual((await createEnv(options, ports)).vmCid, vmCid);
});
