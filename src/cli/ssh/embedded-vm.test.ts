import assert from 'node:assert/strict';
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestServer } from '../../../embedded-cluster/api-server/testing/test-server.ts';
import { createEnv } from '../../deploy/create-env.ts';
import { testEnvironment } from '../../deploy/testing/test-environment.ts';
import { identifyEmbeddedCluster } from '../cluster/check-destroy-target.ts';
import { kubeconfigPath } from '../cluster/kubeconfig.ts';
import { logs, scp, ssh } from '../commands/ssh.ts';
import type { Installation } from '../installation.ts';
import { recordOutput } from '../testing/record-output.ts';

test('ssh, scp and logs of the deployment of up need no flags, and name the kubectl that enters the VM', async (t) => {
  const [environment, { directory }] = await Promise.all([testEnvironment(t), startTestServer(t)]);
  const { options, ports, agent } = environment;
  const cluster = (await identifyEmbeddedCluster(directory)) ?? assert.fail('there is no cluster');
  await createEnv({ ...options, cluster }, ports);
  // The variables and the vars store of 'up'.
  const creds = join(environment.directory, 'manifest-creds.yml');
  await rename(options.varsStorePath ?? '', creds);
  const kept = await readFile(creds, 'utf8');
  const variables = 'kubeconfig: ((kubeconfig)), root: ((installation)), kubelet: ((kubelet_root_dir))';
  await environment.editManifest((text) => text.replace('tags: {', `tags: {${variables}, `));
  agent.faults.failing = { verb: 'ssh', message: 'this VM runs no sshd' };
  const installation = {
    ...{
      root: '/installation',
      clusterDirectory: directory,
      workspace: options.workspace,
      nodeBinary: '/node',
    },
  } as Installation;
  const { current_vm_cid: vm } = await environment.state();
  const enter = `kubectl --kubeconfig ${kubeconfigPath(directory)} exec -it ${String(vm)} -- bash`;

  for (const [command, ...args] of [[ssh, '--', 'id'], [scp, 'vm:/etc/hosts', '.'], [logs]] as const)
    await assert.rejects(
      command.run([options.manifestPath, '--state', options.statePath, ...args], {
        ...recordOutput().context,
        environment: ports.environment,
        installation,
      }),
      (error: Error) => error.message.includes(enter) && /no sshd/u.test(String(error.cause)),
    );
  assert.equal(await readFile(creds, 'utf8'), kept);
});
