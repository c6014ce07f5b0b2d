import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startEnv, stopEnv } from './agent-commands.ts';
import { createEnv } from './create-env.ts';
import { deleteEnv } from './delete-env.ts';
import { testEnvironment } from './testing/test-environment.ts';

test('stop-env stops the jobs and start-env starts them, and both use only the agent', async (t) => {
  const { options, ports, cloud, agent, state } = await testEnvironment(t);
  const { vmCid } = await createEnv(options, ports);
  const before = await state();
  await cloud.forgetRequests();
  const deployment = (): string => ports.output().replaceAll(/\(\d\d:\d\d:\d\d\)/g, '(t)');
  deployment();

  agent.calls.length = 0;
  await stopEnv(options, ports);
  assert.deepEqual(agent.verbs, ['get_state', 'run_script', 'drain', 'stop', 'run_script']);
  const stopped = deployment();
  assert.equal(
    stopped.slice(stopped.indexOf('Started stopping')),
    `Started stopping deployment
  Waiting for the agent on VM '${vmCid}'... Finished (t)
  Running the pre-stop scripts 'unknown/0'... Finished (t)
  Draining jobs on instance 'unknown/0'... Finished (t)
  Stopping jobs on instance 'unknown/0'... Finished (t)
  Running the post-stop scripts 'unknown/0'... Finished (t)
Finished stopping deployment (t)
`,
  );

  agent.calls.length = 0;
  await stopEnv({ ...options, skipDrain: true }, ports);
  assert.deepEqual(agent.verbs, ['get_state', 'run_script', 'stop', 'run_script']);

  agent.calls.length = 0;
  deployment();
  await startEnv(options, ports);
  assert.deepEqual(agent.verbs, ['get_state', 'run_script', 'start', 'get_state', 'run_script']);
  const started = deployment();
  assert.equal(
    started.slice(started.indexOf('Started starting')),
    `Started starting deployment
  Waiting for the agent on VM '${vmCid}'... Finished (t)
  Running the pre-start scripts 'unknown/0'... Finished (t)
  Starting the agent 'unknown/0'... Finished (t)
  Waiting for instance 'unknown/0' to be running... Finished (t)
  Running the post-start scripts 'unknown/0'... Finished (t)
Finished starting deployment (t)
`,
  );

  assert.deepEqual(cloud.requests(), []);
  assert.deepEqual(await state(), before);
});

test('a directory as manifest is refused, and no state file is created beside it', async (t) => {
  const { options, ports } = await testEnvironment(t);
  const manifestPath = await mkdtemp(join(tmpdir(), 'folder-'));
  t.after(() => rm(manifestPath, { recursive: true }));
  const { statePath: _, ...others } = options;

  for (const run of [createEnv, stopEnv, startEnv, deleteEnv]) {
    await assert.rejects(run({ ...others, manifestPath }, ports), {
      code: 'FILE_NOT_FOUND',
      message: `'${manifestPath}' is a directory; name the manifest file`,
    });
  }
  assert.equal(existsSync(`${manifestPath}-state.json`), false);
});

test('create-env without a change reports that stop-env has stopped the jobs, and how to start them', async (t) => {
  const { options, ports } = await testEnvironment(t);
  const message =
    "The jobs of instance 'hello/0' are stopped, and this run did not start them; start-env with the same manifest and flags starts them\n";
  await createEnv(options, ports);
  await stopEnv(options, ports);
  ports.output();

  assert.deepEqual((await createEnv(options, ports)).state, 'stopped');
  assert.ok(ports.output().endsWith(`Skipping deploy.\n${message}`));

  await startEnv(options, ports);
  await createEnv(options, ports);
  assert.ok(ports.output().endsWith('Skipping deploy.\n'));
});

test('stop-env and start-env report why they cannot run', async (t) => {
  const { options, ports, agent } = await testEnvironment(t);
  for (const run of [stopEnv, startEnv]) {
    await run(options, ports);
    assert.match(ports.output(), /No deployment state file found\.\n$/);
  }
  await createEnv(options, ports);
  agent.calls.length = 0;

  agent.faults.agentId = 'another';
  for (const run of [stopEnv, startEnv]) await assert.rejects(run(options, ports), { code: 'OTHER_AGENT' });
  assert.deepEqual([...new Set(agent.verbs)], ['get_state']);

  delete agent.faults.agentId;
  agent.faults.unreachable = true;
  let requestCount = 0;
  const now = (): number => Date.now() + 3000 * requestCount++;
  const hurried = { ...ports, clock: { ...ports.clock, now } };
  for (const run of [stopEnv, startEnv])
    await assert.rejects(run(options, hurried), { code: 'AGENT_UNREACHABLE' });
});
