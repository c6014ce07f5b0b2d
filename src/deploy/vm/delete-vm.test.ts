import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { createEnv } from '../create-env.ts';
import { deleteEnv } from '../delete-env.ts';
import { DeploymentFiles } from '../state/deployment-files.ts';
import { testEnvironment } from '../testing/test-environment.ts';

test('a VM that cannot be found beside the recorded one stays recorded, and the warning names the remedy', async (t) => {
  const { cloud, options, ports } = await testEnvironment(t);
  const { vmCid } = await createEnv(options, ports);
  const vm = { agent_id: 'left', arguments_sha256: 'other' };
  await writeFile(`${options.statePath}.pending`, JSON.stringify({ vm, disks: [] }));
  await cloud.fail({ method: 'create_vm', kind: 'error' });

  assert.equal((await createEnv(options, ports)).changed, false);

  assert.match(
    ports.warnings.join(),
    /A VM of agent 'left' may be left over: .*the cloud says no.*until one with --recreate/,
  );
  assert.equal((await new DeploymentFiles(options.statePath).readKnownResources())?.pendingAgentId, 'left');

  const recreated = await createEnv({ ...options, recreate: true }, ports);
  assert.notEqual(recreated.vmCid, vmCid);
  assert.deepEqual(cloud.vms(), [recreated.vmCid]);
  assert.equal(
    (await new DeploymentFiles(options.statePath).readKnownResources())?.pendingAgentId,
    undefined,
  );
});

test('a VM with a recorded cid is deleted without a stemcell', async (t) => {
  const { cloud, options, ports, state } = await testEnvironment(t);
  const { vmCid: cid } = await createEnv(options, ports);
  const unrecorded = { ...(await state()), current_vm_cid: '', stemcells: [], current_stemcell_id: '' };
  await writeFile(options.statePath, JSON.stringify(unrecorded));
  const vm = { agent_id: cid.replace('vm-', ''), arguments_sha256: 'other', cid };
  await writeFile(`${options.statePath}.pending`, JSON.stringify({ vm, disks: [] }));

  await deleteEnv(options, ports);

  assert.deepEqual([cloud.vms(), ports.warnings], [[], []]);
});
