import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestServer } from '../../cluster/api/testing/test-server.ts';
import { emptyState } from '../../deploy/state/deployment-state.ts';
import { pods } from '../../kubernetes/resources.ts';
import { kubeconfigPath } from '../connect.ts';
import type { Installation } from '../installation.ts';
import { said } from '../testing/said.ts';
import { status } from './status.ts';

test('status of a manifest whose recorded VM is not in the cluster says so and fails', async (t) => {
  const { api, directory } = await startTestServer(t);
  const statePath = join(directory, 'm-state.json');
  await writeFile(
    statePath,
    JSON.stringify({ ...emptyState, installation_id: 'one', current_vm_cid: 'vm-1' }),
  );
  const installation = { clusterDirectory: directory } as Installation;
  const run = async (...words: string[]) => {
    const { context, errors } = said();
    const flags = ['--kubeconfig', kubeconfigPath(directory)];
    const exitCode = await status.run([...flags, ...words], { ...context, installation });
    return { exitCode, errors: errors.join() };
  };
  const deployment = [[join(directory, 'm.yml')], ['--state', statePath]];

  for (const words of deployment) {
    const { exitCode, errors } = await run(...words);

    assert.equal(exitCode, 1);
    assert.match(
      errors,
      /VM 'vm-1', which '.*m-state\.json' records, is not in the cluster; run up or create-env/,
    );
  }
  assert.deepEqual(await run(), { exitCode: 0, errors: '' });
  assert.deepEqual(await run(join(directory, 'never-deployed.yml')), { exitCode: 0, errors: '' });

  await api.create(pods, {
    metadata: { name: 'vm-1', namespace: 'default' },
    spec: { containers: [{ name: 'vm', image: 'any' }], automountServiceAccountToken: false },
  } as never);
  for (const words of deployment) assert.deepEqual(await run(...words), { exitCode: 0, errors: '' });
});
