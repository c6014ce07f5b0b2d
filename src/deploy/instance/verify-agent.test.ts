import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { errorChain } from '../../platform/error-chain.ts';
import { createEnv } from '../create-env.ts';
import { deleteEnv } from '../delete-env.ts';
import { testEnvironment } from '../testing/test-environment.ts';

test('an agent of another VM at the mbus address is reported with its VM, and gets no further request', async (t) => {
  const { options, ports, agent, cloud } = await testEnvironment(t);
  agent.faults.agentId = 'somebody-else';

  await assert.rejects(createEnv(options, ports), (error) => {
    const chain = errorChain(error).join('\n');
    assert.ok(isProductError(error, 'OTHER_AGENT'), chain);
    const [vm = ''] = cloud.vms();
    for (const word of ['somebody-else', vm, '127.0.0.1'])
      assert.ok(chain.includes(word), `${word} is not in ${chain}`);
    assert.ok(!chain.includes('secret'));
    return true;
  });

  assert.deepEqual(new Set(agent.verbs), new Set(['get_state']));
});

test('if another VM has the address, a deploy changes nothing and a delete sends no request to its agent', async (t) => {
  const { options, ports, agent, cloud, state } = await testEnvironment(t);
  const { vmCid } = await createEnv(options, ports);
  const before = await state();
  agent.faults.agentId = 'somebody-else';
  agent.calls.length = 0;

  await assert.rejects(createEnv({ ...options, recreate: true }, ports), (error) => {
    assert.ok(isProductError(error, 'OTHER_AGENT'), errorChain(error).join('\n'));
    for (const word of ['somebody-else', vmCid, 'nothing was changed'])
      assert.ok(error.message.includes(word), `${word} is not in ${error.message}`);
    return true;
  });
  assert.deepEqual([cloud.vms(), await state()], [[vmCid], before]);
  assert.equal((await createEnv(options, ports)).state, 'unresponsive agent');

  await deleteEnv(options, ports);

  assert.deepEqual(cloud.vms(), []);
  assert.match(ports.warnings.join(), /another VM's agent, 'somebody-else'/);
  assert.deepEqual(new Set(agent.verbs), new Set(['get_state']));
});

test("a run after one that met another VM's agent meets it again, and stops none of its jobs", async (t) => {
  const { options, ports, agent, cloud } = await testEnvironment(t);
  agent.faults.agentId = 'somebody-else';
  await assert.rejects(createEnv(options, ports));
  const vms = cloud.vms();

  await assert.rejects(createEnv(options, ports), (error) => isProductError(error, 'OTHER_AGENT'));

  assert.deepEqual([cloud.vms(), new Set(agent.verbs)], [vms, new Set(['get_state'])]);
  delete agent.faults.agentId;
  assert.equal((await createEnv(options, ports)).state, 'running');
});

test('a VM that the bosh CLI recorded has no known agent ID, and is replaced', async (t) => {
  const { options, ports, agent, state } = await testEnvironment(t);
  const { vmCid } = await createEnv(options, ports);
  const { current_agent_id: _, ...asBoshWritesIt } = await state();
  await writeFile(options.statePath, JSON.stringify(asBoshWritesIt));
  agent.faults.agentId = 'whose';
  const write = (text: string): void => {
    if (text.includes('Deleting VM')) delete agent.faults.agentId;
  };

  assert.notEqual((await createEnv({ ...options, recreate: true }, { ...ports, write })).vmCid, vmCid);
});

test('the run waits while a proxy still leads to the previous VM', async (t) => {
  const { options, ports, agent } = await testEnvironment(t);
  agent.faults.agentId = 'the-former-one';
  const sleep = (milliseconds: number): Promise<void> => {
    delete agent.faults.agentId;
    return ports.clock.sleep(milliseconds);
  };

  const { state } = await createEnv(options, { ...ports, clock: { now: () => ports.clock.now(), sleep } });

  assert.equal(state, 'running');
});

test('an agent without an agent ID, or one that cannot report its state yet, is accepted', async (t) => {
  for (const fault of [{ agentId: '' }, { failing: { verb: 'get_state', message: 'no spec yet' } }]) {
    const { options, ports, agent } = await testEnvironment(t);
    Object.assign(agent.faults, fault);
    const write = (text: string): void => {
      if (text.includes('Creating disk')) delete agent.faults.failing;
    };

    assert.equal((await createEnv(options, { ...ports, write })).state, 'running');
  }
});

test('a move of the instance away from its mbus address is refused while it still runs', async (t) => {
  const { options, ports, agent, cloud, editManifest } = await testEnvironment(t);
  const { vmCid } = await createEnv(options, ports);
  await editManifest((text) => text.replace('static_ips: [127.0.0.1]', 'static_ips: [127.0.0.2]'));
  agent.calls.length = 0;

  await assert.rejects(createEnv(options, ports), (error) => {
    assert.ok(isProductError(error, 'MANIFEST_INVALID'), errorChain(error).join('\n'));
    assert.match(
      error.message,
      /manifest\.yml:\d+:\d+: cloud_provider\.mbus: .*127\.0\.0\.1\b.*127\.0\.0\.2\b.*othing was changed/,
    );
    return true;
  });

  assert.deepEqual([cloud.vms(), agent.verbs], [[vmCid], ['get_state']]);
  await editManifest((text) => text.replace('static_ips: [127.0.0.2]', 'static_ips: [127.0.0.1]'));
  assert.equal((await createEnv(options, ports)).changed, false);
});

test('an instance behind address translation can move', async (t) => {
  const { options, ports, agent, editManifest } = await testEnvironment(t);
  await editManifest((text) => text.replace('static_ips: [127.0.0.1]', 'static_ips: [127.0.0.2]'));
  const first = await createEnv(options, ports);
  await editManifest((text) => text.replace('static_ips: [127.0.0.2]', 'static_ips: [127.0.0.3]'));

  const second = await createEnv(options, ports);

  assert.notEqual(second.vmCid, first.vmCid);
  assert.equal(second.address, '127.0.0.3');
  assert.ok(agent.verbs.length > 0);
  assert.match(ports.warnings.join(), /cloud_provider\.mbus: '127\.0\.0\.1'/);
});
