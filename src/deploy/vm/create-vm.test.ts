import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorChain } from '../../platform/error-chain.ts';
import { createCloud } from '../cpi/cpi-client.ts';
import { createEnv } from '../create-env.ts';
import { testEnvironment } from '../testing/test-environment.ts';

test('a VM that the CPI could not create ends the run before it stops anything in the running VM', async (t) => {
  const { options, ports, cloud, agent, state } = await testEnvironment(t);
  const { vmCid } = await createEnv(options, ports);
  const before = await state();
  agent.calls.length = 0;
  const message = 'ResourceQuota full leaves no room';
  await cloud.fail({ method: 'check_vm', kind: 'error', type: 'Bosh::Clouds::VMCreationFailed', message });

  await assert.rejects(createEnv({ ...options, recreate: true }, ports), (error) => {
    const chain = errorChain(error).join('\n');
    assert.ok(chain.startsWith('Checking that the VM can be created; no VM was stopped or created'), chain);
    assert.ok(chain.includes(message), chain);
    return true;
  });

  assert.deepEqual([cloud.vms(), await state()], [[vmCid], before]);
  assert.deepEqual(new Set(agent.verbs), new Set(['get_state']));
  assert.equal((await createEnv(options, ports)).changed, false);
});

test('check_vm gets the arguments of the later create_vm, and the VM to replace', async (t) => {
  const { options, ports, cloud } = await testEnvironment(t);
  const first = await createEnv(options, ports);
  const second = await createEnv({ ...options, recreate: true }, ports);
  // The previous VM is deleted, and the disk is still recorded.
  await cloud.fail({ method: 'create_vm', kind: 'error', message: 'no room' });
  await assert.rejects(createEnv({ ...options, recreate: true }, ports));
  await createEnv(options, ports);
  const argumentsOf = (method: string): readonly (readonly unknown[])[] =>
    cloud.requests().flatMap((request) => (request.method === method ? [request.arguments] : []));
  const [checks, creations] = [argumentsOf('check_vm'), argumentsOf('create_vm')];
  assert.deepEqual(
    checks.map((args) => args.slice(1, 6)),
    creations.map((args) => args.slice(1)),
  );
  const metadata = { deployment: 'tiny-env', instance_group: 'hello', director: 'bosh-init', index: '0' };
  assert.deepEqual(
    checks.map((args) => args.slice(6)),
    [[null, metadata], [first.vmCid], [second.vmCid], [null]],
  );
  assert.notEqual(second.vmCid, first.vmCid);
});

for (const [type, message] of [
  ['Bosh::Clouds::NotImplemented', 'no such method'],
  ['Bosh::Clouds::NotSupported', 'not here'],
  ['Bosh::Clouds::CloudError', 'Invalid Method: check_vm'],
  ['InvalidCall', "Method is not known, got: 'check_vm'"],
] as const) {
  test(`a CPI without check_vm that returns ${type} is not called again, and the run continues`, async (t) => {
    const { options, ports, cloud } = await testEnvironment(t);
    await cloud.fail({ method: 'check_vm', kind: 'error', type, message });
    const { vmCid } = await createEnv(options, ports);
    assert.deepEqual([cloud.vms(), ports.warnings], [[vmCid], []]);
  });
}

test('a failed check is reported as a warning, and a result of another shape is an error', async () => {
  const vm = { agentId: 'a', stemcellCid: 's', cloudProperties: {}, networks: {}, diskCids: [], env: {} };
  const answering = (result: unknown) =>
    createCloud({
      directorId: 'd',
      stemcellApiVersion: 3,
      run: async ({ method }) => ({
        result: method === 'info' ? { api_version: 2, stemcell_formats: [] } : result,
        error: undefined,
        log: '',
      }),
    }).checkVm(vm, undefined, {});
  assert.deepEqual(await answering(['a quota']), ['a quota']);
  assert.deepEqual(await answering(null), []);
  await assert.rejects(answering({ fine: true }), /result of 'check_vm'/u);
});
