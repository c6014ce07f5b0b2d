import assert from 'node:assert/strict';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { creationError } from '../cpi/vm/create-vm.ts';
import { ProductError } from '../errors/product-error.ts';
import { errorChain } from '../platform/error-chain.ts';
import { createEnv } from './create-env.ts';
import { deleteEnv } from './delete-env.ts';
import { shutDownVerbs } from './testing/fake-agent.ts';
import { testEnvironment } from './testing/test-environment.ts';

/** The response of our CPI if it could not remove what it had created. */
const [leftBehind = ''] = errorChain(
  creationError(
    { cid: 'vm-1', namespace: 'bosh' },
    new ProductError('DEADLINE', 'waited'),
    new Error('away'),
  ),
);

test('deletes the VM, the disk, the stemcell, the installation and at last the state file', async (t) => {
  const { options, ports, cloud, agent } = await testEnvironment(t);
  const { vmCid, diskCid } = await createEnv(options, ports);
  await cloud.forgetRequests();
  agent.calls.length = 0;
  ports.output();

  const result = await deleteEnv(options, ports);

  assert.deepEqual(cloud.calls(), ['has_disk', 'has_vm', 'delete_vm', 'delete_disk', 'delete_stemcell']);
  assert.deepEqual(agent.verbs, shutDownVerbs);
  assert.deepEqual([cloud.vms(), cloud.disks(), result.deleted, result.unconfirmedDisks], [[], [], true, []]);
  await assert.rejects(stat(options.statePath), { code: 'ENOENT' });
  assert.deepEqual(await readdir(join(options.workspace, 'installations')), []);
  const text = ports.output().replaceAll(/\(\d\d:\d\d:\d\d\)/g, '(t)');
  assert.equal(
    text.slice(text.indexOf('Started deleting')),
    `Started deleting deployment
  Waiting for the agent on VM '${vmCid}'... Finished (t)
  Running the pre-stop scripts 'unknown/0'... Finished (t)
  Draining jobs on instance 'unknown/0'... Finished (t)
  Stopping jobs on instance 'unknown/0'... Finished (t)
  Running the post-stop scripts 'unknown/0'... Finished (t)
  Unmounting disk '${diskCid}'... Finished (t)
  Deleting VM '${vmCid}'... Finished (t)
  Deleting disk '${diskCid}'... Finished (t)
  Deleting stemcell 'stemcell-tiny-1.0'... Finished (t)
Finished deleting deployment (t)

Uninstalling local artifacts for CPI and deployment... Finished (t)
Cleaning up rendered CPI jobs... Finished (t)
`,
  );
});

test('does nothing without a state file', async (t) => {
  const { options, ports, cloud } = await testEnvironment(t);

  const result = await deleteEnv(options, ports);

  assert.equal(result.deleted, false);
  assert.match(ports.output(), /\nNo deployment state file found\.\n$/);
  assert.deepEqual(cloud.vms(), []);
});

test("removes no release but the CPI's", async (t) => {
  const { options, ports, directory } = await testEnvironment(t);
  await createEnv(options, ports);
  await rm(join(directory, 'tinyapp.tgz'));

  assert.equal((await deleteEnv(options, ports)).deleted, true);
});

test('a resource that the cloud no longer has is skipped, and with --force all resources are', async (t) => {
  const { options, ports, directory } = await testEnvironment(t);
  await createEnv(options, ports);
  for (const kind of ['vms', 'disks', 'stemcells'])
    await rm(join(directory, 'cloud', kind), { recursive: true });
  ports.output();

  await assert.rejects(deleteEnv(options, ports), { code: 'OTHER_CLUSTER' });
  await deleteEnv({ ...options, force: true }, ports);

  const text = ports.output();
  for (const reason of ['VM not found', 'Disk not found', 'Stemcell not found']) {
    assert.ok(text.includes(`Skipped [${reason}]`), text);
  }
});

test('a create_vm that failed and left nothing needs no delete, and no VM is created for one', async (t) => {
  const { options, ports, cloud } = await testEnvironment(t);
  await cloud.fail({ method: 'create_vm', kind: 'error', message: 'exceeded quota' });
  await assert.rejects(createEnv(options, ports), { code: 'CPI_ERROR' });
  await assert.rejects(stat(`${options.statePath}.pending`), { code: 'ENOENT' });
  await cloud.forgetRequests();

  const { unconfirmedVm } = await deleteEnv(options, ports);

  assert.deepEqual([cloud.calls(), unconfirmedVm, ports.warnings], [['delete_stemcell'], undefined, []]);
});

for (const [what, failure] of [
  ['that the CPI could not clean up after', { kind: 'error', message: leftBehind }],
  ['in which the CPI itself failed', { kind: 'error', type: 'Bosh::Clouds::CpiError' }],
  ['that did not answer', { kind: 'exit' }],
] as const) {
  test(`a VM that a create_vm ${what} may have created is deleted, even after another failure`, async (t) => {
    const { options, ports, cloud } = await testEnvironment(t);
    for (const fault of [failure, { kind: 'error' }] as const) {
      await cloud.fail({ method: 'create_vm', ...fault });
      await assert.rejects(createEnv(options, ports));
    }
    await cloud.forgetRequests();

    await deleteEnv(options, ports);

    assert.deepEqual(cloud.calls(), ['create_vm', 'delete_vm', 'delete_stemcell']);
    assert.deepEqual(cloud.vms(), []);
  });
}

test('a VM that an interrupted run may have left and that cannot be found is named', async (t) => {
  const { options, ports, cloud } = await testEnvironment(t);
  await cloud.fail({ method: 'create_vm', kind: 'exit' });
  await assert.rejects(createEnv(options, ports));
  const [vm] = cloud.vms();
  await cloud.fail({ method: 'create_vm', kind: 'error' });

  const result = await deleteEnv(options, ports);

  assert.equal(`vm-${result.unconfirmedVm}`, vm);
  assert.match(ports.warnings.join(), /may be left over/);
  assert.equal(result.deleted, true);
});
