import assert from 'node:assert/strict';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestServer } from '../../../embedded-cluster/api-server/testing/test-server.ts';
import { createEnv } from '../../deploy/create-env.ts';
import { testEnvironment } from '../../deploy/testing/test-environment.ts';
import { pods } from '../../kubernetes/resources.ts';
import { identifyEmbeddedCluster } from '../cluster/check-destroy-target.ts';
import type { Installation } from '../installation.ts';
import { markAsRunning } from '../testing/mark-as-running.ts';
import { recordOutput } from '../testing/record-output.ts';
import { status } from './status.ts';

test('status shows the jobs of a deployment on the embedded cluster apart from its pod', async (t) => {
  const [environment, { api, directory }] = await Promise.all([testEnvironment(t), startTestServer(t)]);
  const { options, ports, agent } = environment;
  const cluster = (await identifyEmbeddedCluster(directory)) ?? assert.fail('there is no cluster');
  await createEnv({ ...options, cluster }, ports);
  await rename(options.varsStorePath ?? '', join(environment.directory, 'manifest-creds.yml'));
  await markAsRunning(directory);
  const vm = String((await environment.state())['current_vm_cid']);
  const labels = { 'bosh.cloudfoundry.org/kind': 'vm' };
  const pod: object = await api.create(pods, {
    metadata: { name: vm, namespace: 'bosh', labels },
    spec: { containers: [{ name: 'vm', image: 'any' }], automountServiceAccountToken: false },
  } as never);
  const conditions = [{ type: 'Ready', status: 'True' }];
  await api.replace(pods, { ...pod, status: { phase: 'Running', conditions } } as never, 'status');
  const run = async (): Promise<string> => {
    const output = recordOutput();
    const installation = { root: '/installation', clusterDirectory: directory } as Installation;
    const context = { ...output.context, environment: ports.environment, installation };
    assert.equal(await status.run([options.manifestPath, '--state', options.statePath], context), 0);
    return output.out;
  };
  const row = (jobs: string): RegExp => new RegExp(`^Instance +Pod +Jobs .*\n${vm} +Running +${jobs} `, 'mu');

  const running = await run();
  assert.match(running, row('running'));
  assert.doesNotMatch(running, /state of its jobs/u);

  agent.faults.jobState = 'failing';
  const failing = await run();
  assert.match(failing, row('failing'));
  assert.match(
    failing,
    new RegExp(`VM '${vm}': the state of its jobs is 'failing'\n +next: .*bosh-kubernetes logs`, 'u'),
  );

  agent.faults.jobState = 'stopped';
  assert.match(await run(), /is 'stopped'\n +next: .*start-env/u);

  agent.faults.unreachable = true;
  const unknown = await run();
  assert.match(unknown, row('unknown'));
  assert.match(unknown, /^The jobs of VM '.*' are not known: its agent does not respond$/mu);

  await environment.editManifest((text) => text.replace('tags: {', 'tags: {missing: ((flag_of_up)), '));
  assert.match(await run(), /^The jobs of VM '.*' are not known: .*flag_of_up/mu);
});
