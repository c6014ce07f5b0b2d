import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { createEnv } from './create-env.ts';
import { deleteEnv } from './delete-env.ts';
import { DeploymentFiles } from './state/deployment-files.ts';
import { assertConverged, forgetDeployment, killedRun, moments } from './testing/killed-run.ts';
import { testEnvironment, type TestEnvironment } from './testing/test-environment.ts';

test('a VM that a killed run created from another manifest is replaced, and not kept beside the new one', async (t) => {
  const environment = await testEnvironment(t);
  const { cloud, options, ports, editManifest } = environment;
  await cloud.fail({ method: 'create_vm', kind: 'kill-after' });
  await killedRun(environment);
  const [leftover] = cloud.vms();
  await editManifest((text) => text.replace('{cpu: 1}', '{cpu: 2}'));

  const result = await createEnv(options, ports);

  assertConverged(environment, result);
  assert.notEqual(result.vmCid, leftover);
});

/**
 * Does what the bosh CLI does after a run of ours was killed: it does not know the pending file. Returns the
 * two VMs.
 */
async function handedOver(
  environment: TestEnvironment,
  kill: () => Promise<void>,
): Promise<{ readonly ours: string; readonly theirs: string }> {
  const { cloud, options, ports } = environment;
  const pending = `${options.statePath}.pending`;
  await forgetDeployment(environment);
  await kill();
  const [ours] = cloud.vms();
  assert.ok(ours);
  await rename(pending, `${pending}.hidden`);
  const { vmCid: theirs } = await createEnv(options, ports);
  await rename(`${pending}.hidden`, pending);
  assert.deepEqual(cloud.vms().toSorted(), [ours, theirs].toSorted());
  assert.equal(
    (await new DeploymentFiles(options.statePath).readKnownResources())?.pendingAgentId,
    ours.replace('vm-', ''),
  );
  return { ours, theirs };
}

test('a VM whose response was lost does not stay beside the VM that the bosh CLI created in the meantime', async (t) => {
  const environment = await testEnvironment(t);
  const { cloud, options, ports, agent } = environment;
  const kill = async (): Promise<void> => {
    await cloud.fail({ method: 'create_vm', kind: 'kill-after' });
    await killedRun(environment);
  };

  await t.test('without another change, create-env keeps the VM of the bosh CLI', async () => {
    const { theirs } = await handedOver(environment, kill);

    const result = await createEnv(options, ports);

    assert.deepEqual([result.changed, result.vmCid, cloud.vms()], [false, theirs, [theirs]]);
    assert.equal(
      (await new DeploymentFiles(options.statePath).readKnownResources())?.pendingAgentId,
      undefined,
    );
  });

  await t.test('create-env --recreate leaves one VM', async () => {
    await handedOver(environment, kill);
    assertConverged(environment, await createEnv({ ...options, recreate: true }, ports));
  });

  await t.test('delete-env leaves no VM and no disk', async () => {
    await handedOver(environment, kill);
    await deleteEnv(options, ports);
    assert.deepEqual([cloud.vms(), cloud.disks()], [[], []]);
  });

  for (const kind of moments) {
    await t.test(`a run that is killed too, ${kind} delete_vm, is completed by the next one`, async () => {
      const { theirs } = await handedOver(environment, kill);
      await cloud.fail({ method: 'delete_vm', kind });
      await killedRun(environment);
      await cloud.forgetRequests();

      const result = await createEnv(options, ports);

      assert.deepEqual([result.vmCid, cloud.vms()], [theirs, [theirs]]);
      assert.deepEqual(cloud.calls(), ['has_vm', 'delete_vm'], 'no VM is made to be deleted');
      assert.deepEqual(agent.mountedDisks, [result.diskCid]);
    });
  }
});

test('a VM recorded before a crash is kept', async (t) => {
  const environment = await testEnvironment(t);
  const { cloud, options, ports } = environment;
  const { vmCid } = await createEnv(options, ports);
  const vm = { agent_id: vmCid.replace('vm-', ''), arguments_sha256: 'other' };
  const { current_vm_cid: _, ...unrecorded } = await environment.state();
  for (const [what, pending, state, requested] of [
    ['the VM is in the pending file and the state file', { ...vm, cid: vmCid }, undefined, []],
    ['an earlier version recorded the VM', vm, undefined, ['create_vm']],
    ['the VM is only in the pending file', { ...vm, cid: vmCid }, unrecorded, ['delete_vm', 'create_vm']],
  ] as const) {
    await t.test(what, async () => {
      await writeFile(`${options.statePath}.pending`, JSON.stringify({ vm: pending, disks: [] }));
      if (state !== undefined) await writeFile(options.statePath, JSON.stringify(state));
      await cloud.forgetRequests();

      assertConverged(environment, await createEnv({ ...options, recreate: state !== undefined }, ports));

      assert.deepEqual(
        cloud.calls().filter((method) => ['create_vm', 'delete_vm'].includes(method)),
        requested,
      );
      assert.equal(
        (await new DeploymentFiles(options.statePath).readKnownResources())?.pendingAgentId,
        undefined,
      );
    });
  }
});

test('delete-env finds the VM of a run that was killed before it could record it', async (t) => {
  const environment = await testEnvironment(t);
  const { cloud, options, ports } = environment;
  await cloud.fail({ method: 'create_vm', kind: 'kill-after' });
  await killedRun(environment);
  assert.equal(cloud.vms().length, 1);

  await deleteEnv(options, ports);

  assert.deepEqual(cloud.vms(), []);
});
