import assert from 'node:assert/strict';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startTestServer } from '../../../embedded-cluster/api-server/testing/test-server.ts';
import { createEnv as deploy } from '../../deploy/create-env.ts';
import { testEnvironment } from '../../deploy/testing/test-environment.ts';
import { identifyEmbeddedCluster } from '../cluster/check-destroy-target.ts';
import { withRecordedCluster } from '../cluster/with-recorded-cluster.ts';
import { parseEnvArguments } from '../args/env-arguments.ts';
import type { Installation } from '../installation.ts';
import { markAsRunning } from '../testing/mark-as-running.ts';
import { recordOutput } from '../testing/record-output.ts';
import { createEnv, deleteEnv, startEnv, stopEnv } from './env.ts';

/** Deploys in a fake cloud as `up` does, with its variables, its vars store and its record of the cluster. */
async function deployedByUp(t: TestContext) {
  const [environment, { directory }] = await Promise.all([testEnvironment(t), startTestServer(t)]);
  const { options, ports } = environment;
  const cluster = (await identifyEmbeddedCluster(directory)) ?? assert.fail('there is no cluster');
  await deploy({ ...options, cluster }, ports);
  await markAsRunning(directory);
  await rename(options.varsStorePath ?? '', join(environment.directory, 'manifest-creds.yml'));
  const variables = 'root: ((installation)), kubelet: ((kubelet_root_dir))';
  await environment.editManifest((text) => text.replace('tags: {', `tags: {${variables}, `));
  const installation = {
    ...{ root: '/installation', clusterDirectory: directory, workspace: options.workspace },
    nodeBinary: process.execPath,
  } as Installation;
  const context = { ...recordOutput().context, environment: ports.environment, installation };
  const args = [options.manifestPath, '--state', options.statePath];
  return { environment, context, args, directory };
}

test('stop-env, start-env, create-env and delete-env of the deployment of up need no flags', async (t) => {
  const { environment, context, args } = await deployedByUp(t);

  for (const command of [stopEnv, startEnv, createEnv, deleteEnv])
    assert.equal(await command.run(args, context), 0);

  assert.deepEqual([environment.cloud.vms(), environment.cloud.disks()], [[], []]);
});

test('a variable and a vars store of the operator take precedence over those of up', async (t) => {
  const { context, args, directory } = await deployedByUp(t);
  const file = join(dirname(args[0] ?? ''), 'own-vars.yml');
  await writeFile(file, 'installation: /own\n');
  const read = (...flags: string[]) =>
    withRecordedCluster(parseEnvArguments('create-env', [...args, ...flags]), context);

  assert.equal((await read()).variables['installation'], '/installation');
  assert.equal((await read()).kubeconfig, join(directory, 'kubeconfig'));
  const own = await read('-l', file, '--vars-store', 'own.yml');
  assert.deepEqual(['installation' in own.variables, own.varsStorePath], [false, 'own.yml']);
  const elsewhere = await read('-v', 'kubeconfig=x');
  assert.deepEqual([elsewhere.variables, elsewhere.varsStorePath], [{ kubeconfig: 'x' }, undefined]);
});

test('stop-env, start-env and delete-env name up at once if the embedded cluster is stopped', async (t) => {
  const { context, args, directory } = await deployedByUp(t);
  await rm(join(directory, 'process'));

  for (const command of [stopEnv, startEnv, deleteEnv])
    await assert.rejects(command.run(args, context), {
      code: 'CLUSTER_START',
      message: /^Embedded cluster stopped; 'bosh-kubernetes up' starts it/,
    });
});

test('delete-env names destroy if the cluster of the deployment was removed', async (t) => {
  const { context, args, directory } = await deployedByUp(t);
  await rm(directory, { recursive: true });

  await assert.rejects(deleteEnv.run(args, context), {
    code: 'OTHER_CLUSTER',
    message: /no longer exists: .*'bosh-kubernetes destroy .*--state/s,
  });
});
