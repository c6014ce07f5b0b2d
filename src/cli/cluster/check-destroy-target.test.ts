import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  startTestServer,
  type TestServer,
} from '../../../embedded-cluster/api-server/testing/test-server.ts';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { emptyState } from '../../deploy/state/deployment-state.ts';
import type { Pending } from '../../deploy/state/pending-file.ts';
import { persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';
import { assertDestroysOwnCluster } from './check-destroy-target.ts';

const agentId = '00000000-0000-4000-8000-000000000001';
const vm = { agent_id: agentId, arguments_sha256: 'x' };
const disk = { id: 'one', size: 64, vm_cid: 'vm-gone', requested_at: new Date().toISOString() };

/**
 * Creates a running cluster and the files of a create-env that was killed. create-env writes no note about
 * its cluster.
 */
async function killedCreateEnv(t: TestContext, pending: Pending) {
  const server = await startTestServer(t);
  const { directory } = server;
  const statePath = join(directory, 'm-state.json');
  await writeFile(statePath, JSON.stringify({ ...emptyState, installation_id: 'one' }));
  await writeFile(`${statePath}.pending`, JSON.stringify(pending));
  const refuse = (isRunning = true) =>
    assertDestroysOwnCluster(
      new DeploymentFiles(statePath),
      { directory, all: false, isRunning: async () => isRunning },
      () => {},
    );
  return { server, statePath, refuse };
}

const makePod = ({ api }: TestServer): Promise<unknown> =>
  api.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `vm-${agentId}`, namespace: 'default' },
    spec: { containers: [{ name: 'vm', image: 'any' }], automountServiceAccountToken: false },
  } as never);

const makeClaim = ({ api }: TestServer, storage: string, marks: Record<string, string>): Promise<unknown> =>
  api.create(persistentVolumeClaims, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: 'disk-1',
      namespace: 'default',
      labels: { 'bosh.cloudfoundry.org/kind': 'disk', ...marks },
    },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
  } as never);

const unclaimed = { 'bosh.cloudfoundry.org/unclaimed': 'true' };

test('destroy finds a VM on its cluster if a killed run requested it', async (t) => {
  const { server, refuse } = await killedCreateEnv(t, { vm, disks: [] });
  await makePod(server);

  assert.equal((await refuse())?.being_destroyed, true);
});

test('destroy finds a disk on its cluster if a killed run requested it and did not record its cid', async (t) => {
  const { server, refuse } = await killedCreateEnv(t, { disks: [disk] });
  await makeClaim(server, '64Mi', unclaimed);

  assert.equal((await refuse())?.being_destroyed, true);
});

for (const [what, storage, marks, requested] of [
  ['of another size', '65Mi', unclaimed, disk],
  ['that is claimed', '64Mi', {}, disk],
  ['from before the request', '64Mi', unclaimed, { ...disk, requested_at: '2999-01-01T00:00:00.000Z' }],
] as const)
  test(`a disk ${what} is not treated as the requested disk`, async (t) => {
    const { server, refuse } = await killedCreateEnv(t, { disks: [requested] });
    await makeClaim(server, storage, marks);

    await assert.rejects(refuse(), { code: 'OTHER_CLUSTER', message: /a disk requested as 'one'/ });
  });

test('if nothing is found, the advice does not propose to start a cluster that already runs', async (t) => {
  const { statePath, refuse } = await killedCreateEnv(t, { vm, disks: [] });

  for (const isRunning of [true, false])
    await assert.rejects(refuse(isRunning), ({ message }: Error) => {
      assert.match(message, /'delete-env' with the flags of its create-env deletes it/);
      assert.equal(message.includes("'cluster start'"), !isRunning, message);
      for (const path of [statePath, `${statePath}.pending`])
        assert.ok(message.includes(`'${path}'`), message);
      return true;
    });
});
