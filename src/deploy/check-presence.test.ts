import assert from 'node:assert/strict';
import { access, cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { isProductError } from '../errors/product-error.ts';
import { errorChain } from '../platform/error-chain.ts';
import { createEnv } from './create-env.ts';
import { deleteEnv } from './delete-env.ts';
import { testEnvironment, type TestEnvironment } from './testing/test-environment.ts';

/** Makes the manifest's CPI use another, empty cloud. */
const goElsewhere = ({ editManifest }: TestEnvironment): Promise<void> =>
  editManifest((text) => text.replace(/cloud: '(.*)\/cloud'/, "cloud: '$1/elsewhere'"));

const goBack = ({ editManifest }: TestEnvironment): Promise<void> =>
  editManifest((text) => text.replace(/cloud: '(.*)\/elsewhere'/, "cloud: '$1/cloud'"));

function refused(error: unknown, args: readonly string[]): true {
  assert.ok(isProductError(error, 'OTHER_CLUSTER'), String(error));
  for (const word of args) assert.ok(error.message.includes(word), `${word} is not in: ${error.message}`);
  return true;
}

for (const [name, run] of [
  ['create-env', createEnv],
  ['delete-env', deleteEnv],
] as const) {
  test(`${name} is refused and keeps its records if neither the VM nor the disk exists`, async (t) => {
    const world = await testEnvironment(t);
    const { options, ports, cloud, state } = world;
    const { vmCid, diskCid } = await createEnv(options, ports);
    const before = await state();
    await goElsewhere(world);

    await assert.rejects(run(options, ports), (error) =>
      refused(error, [vmCid, `${diskCid}`, options.statePath, 'delete-env --force']),
    );

    assert.deepEqual(await state(), before);
    assert.deepEqual([cloud.vms(), cloud.disks()], [[vmCid], [`${diskCid}`]]);
    await goBack(world);
    assert.equal((await createEnv(options, ports)).changed, false);
  });
}

test('create-env with a recorded disk and no VM is refused before it creates a VM if the disk does not exist', async (t) => {
  const world = await testEnvironment(t);
  const { options, ports, cloud, state } = world;
  const { diskCid } = await createEnv(options, ports);
  await cloud.fail({ method: 'create_vm', kind: 'error' });
  await assert.rejects(createEnv({ ...options, recreate: true }, ports));
  const before = await state();
  assert.equal(before['current_vm_cid'], '');
  await goElsewhere(world);

  await assert.rejects(createEnv(options, ports), (error) => refused(error, [`${diskCid}`]));

  assert.deepEqual(await state(), before);
  await goBack(world);
  assert.equal((await createEnv(options, ports)).diskCid, diskCid);
});

test('delete-env continues after a run that was killed when it had deleted the disk', async (t) => {
  const { options, ports, cloud, directory } = await testEnvironment(t);
  await createEnv(options, ports);
  await cloud.fail({ method: 'delete_disk', kind: 'error' });
  await assert.rejects(deleteEnv(options, ports));
  await rm(join(directory, 'cloud', 'disks'), { recursive: true });

  assert.equal((await deleteEnv(options, ports)).deleted, true);
});

test('create-env with the same manifest creates an externally deleted VM again and reports it, if its disk exists', async (t) => {
  const { options, ports, cloud, directory } = await testEnvironment(t);
  const { vmCid, diskCid } = await createEnv(options, ports);
  await rm(join(directory, 'cloud', 'vms'), { recursive: true });

  const again = await createEnv(options, ports);

  assert.deepEqual([again.changed, again.diskCid], [true, diskCid]);
  assert.deepEqual([cloud.vms(), cloud.attachedDisks()], [[again.vmCid], [diskCid]]);
  assert.deepEqual(ports.warnings, [`VM '${vmCid}' no longer exists in the cluster; it is created again`]);
});

test('create-env with the same manifest fails if the CPI cannot check whether the VM exists', async (t) => {
  const { options, ports, cloud, state } = await testEnvironment(t);
  const { vmCid } = await createEnv(options, ports);
  const before = await state();
  for (const kind of ['exit', 'error'] as const) {
    await cloud.fail({ method: 'has_vm', kind });

    await assert.rejects(createEnv(options, ports), (error) =>
      errorChain(error).join('\n').includes(`Checking existence of VM '${vmCid}'`),
    );

    assert.deepEqual([await state(), cloud.vms()], [before, [vmCid]]);
  }
});

test('a CPI without has_disk is not called twice', async (t) => {
  const { options, ports, cloud } = await testEnvironment(t);
  await createEnv(options, ports);
  await cloud.fail({ method: 'has_disk', kind: 'error', type: 'Bosh::Clouds::NotImplemented' });

  assert.equal((await createEnv({ ...options, recreate: true }, ports)).changed, true);
});

const withoutDisk = ({ editManifest }: TestEnvironment): Promise<void> =>
  editManifest((text) => text.replace('  persistent_disk_pool: disks\n', ''));

const here = { uid: 'uid-1', server: 'https://127.0.0.1:1', kubeconfig: '/home/a/kubeconfig' };

test("a missing VM without a disk is an error if the CPI's configuration has changed, and a deleted VM otherwise", async (t) => {
  const world = await testEnvironment(t);
  const { options, ports, cloud, state, directory } = world;
  await withoutDisk(world);
  const { vmCid } = await createEnv(options, ports);
  const before = await state();
  await goElsewhere(world);

  for (const run of [createEnv, deleteEnv])
    await assert.rejects(run(options, ports), (error) =>
      refused(error, [vmCid, `${options.statePath}.cpi`, 'delete-env --force']),
    );

  assert.deepEqual([await state(), cloud.vms()], [before, [vmCid]]);
  await goBack(world);
  await rm(join(directory, 'cloud', 'vms'), { recursive: true });
  const again = await createEnv({ ...options, recreate: true }, ports);
  assert.notEqual(again.vmCid, vmCid);
  await rm(join(directory, 'cloud', 'vms'), { recursive: true });
  assert.equal((await deleteEnv(options, ports)).deleted, true);
  await assert.rejects(access(`${options.statePath}.cpi`), { code: 'ENOENT' });
});

test('a changed CPI configuration is accepted while the VM exists, or if the cluster is known to be the same', async (t) => {
  const world = await testEnvironment(t);
  const { options, ports, directory, agent } = world;
  // The fake agent knows the VMs of only one cloud.
  agent.faults.agentId = '';
  await withoutDisk(world);
  await createEnv({ ...options, cluster: here }, ports);
  await cp(join(directory, 'cloud'), join(directory, 'elsewhere'), { recursive: true });
  await goElsewhere(world);
  assert.equal((await createEnv({ ...options, recreate: true }, ports)).changed, true);
  assert.equal((await deleteEnv(options, ports)).deleted, true);

  await goBack(world);
  const { vmCid } = await createEnv({ ...options, cluster: here }, ports);
  await goElsewhere(world);

  assert.notEqual((await createEnv({ ...options, cluster: here, recreate: true }, ports)).vmCid, vmCid);
});

test('create-env with a missing disk is refused while the VM runs, and names the way to create an empty disk', async (t) => {
  const { options, ports, cloud, directory } = await testEnvironment(t);
  const { vmCid, diskCid = '' } = await createEnv(options, ports);
  await rm(join(directory, 'cloud', 'disks', `${diskCid}.json`));

  await assert.rejects(createEnv({ ...options, recreate: true }, ports), (error) => {
    assert.ok(isProductError(error, 'DISK_NOT_FOUND'), String(error));
    for (const word of [diskCid, options.statePath, 'docs/recovery.md', 'an empty disk'])
      assert.ok(error.message.includes(word), `${word} is not in: ${error.message}`);
    return true;
  });
  assert.deepEqual(cloud.vms(), [vmCid]);

  // Follow the advice of the error message.
  const state = JSON.parse(await readFile(options.statePath, 'utf8')) as { disks: { cid: string }[] };
  const disks = state.disks.filter(({ cid }) => cid !== diskCid);
  await writeFile(options.statePath, JSON.stringify({ ...state, disks }));
  const again = await createEnv({ ...options, recreate: true }, ports);
  assert.notEqual(again.diskCid, diskCid);
  assert.deepEqual(cloud.attachedDisks(), [again.diskCid]);
});
