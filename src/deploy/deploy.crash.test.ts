import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createEnv } from './create-env.ts';
import { deleteEnv } from './delete-env.ts';
import { DeploymentFiles } from './state/deployment-files.ts';
import { assertConverged, forgetDeployment, killedRun, moments } from './testing/killed-run.ts';
import { testEnvironment } from './testing/test-environment.ts';

test('after a kill before or after any CPI call of a first deploy, the next run has one VM and one disk', async (t) => {
  const environment = await testEnvironment(t);
  const { cloud, options, ports } = environment;
  const methods = [
    'create_stemcell',
    'create_vm',
    'set_vm_metadata',
    'create_disk',
    'attach_disk',
    'set_disk_metadata',
  ];
  for (const method of methods) {
    for (const kind of moments) {
      await t.test(`${kind} ${method}`, async () => {
        await forgetDeployment(environment);
        await cloud.fail({ method, kind });
        await killedRun(environment);
        const vmsLeft = cloud.vms();

        const result = await createEnv(options, ports);

        assertConverged(environment, result);
        if (method === 'create_vm' && kind === 'kill-after') assert.deepEqual(vmsLeft, [result.vmCid]);
        // The CPI contract has no method by which a deployer could find a disk whose response was lost. The
        // run only knows that it is missing.
        const lost = method === 'create_disk' ? 1 : 0;
        const known = await new DeploymentFiles(options.statePath).readKnownResources();
        assert.equal(known?.unconfirmedDisks.length, lost);
        assert.equal(cloud.disks().length, method === 'create_disk' && kind === 'kill-after' ? 2 : 1);
      });
    }
  }
});

test('after a kill directly after the record of a response, the next run has one VM and one disk', async (t) => {
  const environment = await testEnvironment(t);
  const { cloud, options, ports } = environment;
  for (const killAt of [
    'Waiting for the agent on VM',
    'Attaching disk',
    'Updating instance',
    'Finished deploying',
  ]) {
    await t.test(`a kill at '${killAt}'`, async () => {
      await forgetDeployment(environment);
      await killedRun(environment, { killAt });

      const result = await createEnv(options, ports);

      assertConverged(environment, result);
      assert.equal(cloud.disks().length, 1);
    });
  }
});

test('after a kill during the replacement of a VM, the next run has one VM with the same disk', async (t) => {
  const environment = await testEnvironment(t);
  const { cloud, options, ports } = environment;
  const { diskCid } = await createEnv(options, ports);
  for (const method of ['delete_vm', 'create_vm', 'attach_disk']) {
    for (const kind of moments) {
      await t.test(`${kind} ${method}`, async () => {
        await cloud.fail({ method, kind });
        await killedRun(environment, { recreate: true });

        const result = await createEnv({ ...options, recreate: true }, ports);

        assertConverged(environment, result);
        assert.deepEqual([result.diskCid, cloud.disks()], [diskCid, [diskCid]]);
      });
    }
  }
});

test('a CPI call that outlives its killed run is waited for', async (t) => {
  const environment = await testEnvironment(t);
  const { cloud, options, ports } = environment;
  await cloud.fail({ method: 'create_vm', kind: 'orphan' });
  await killedRun(environment);
  assert.deepEqual(cloud.vms(), []);

  const result = await createEnv(options, ports);

  assertConverged(environment, result);
  assert.match(ports.output(), /Waiting for the CPI call 'create_vm' of an interrupted run to end/);
});

test('after a kill during a deletion, the next delete-env leaves nothing', async (t) => {
  const environment = await testEnvironment(t);
  const { cloud, options, ports, directory } = environment;
  for (const method of ['delete_vm', 'delete_disk', 'delete_stemcell']) {
    await t.test(`kill-after ${method}`, async () => {
      await forgetDeployment(environment);
      await createEnv(options, ports);
      await cloud.fail({ method, kind: 'kill-after' });
      await killedRun(environment, { command: 'delete' });

      const result = await deleteEnv(options, ports);

      assert.equal(result.deleted, true);
      assert.deepEqual([cloud.vms(), cloud.disks()], [[], []]);
      assert.deepEqual(await readdir(join(directory, 'cloud', 'stemcells')), []);
    });
  }
});
