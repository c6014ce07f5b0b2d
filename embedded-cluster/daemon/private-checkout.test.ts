import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { until } from '../../test/support/until.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openApi } from '../../src/kubernetes/client/rest-api.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { hostRootImage } from '../node/node-object.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
/** The parts of a checkout that a start needs. */
const parts = ['package.json', 'dist/cli', 'dist/cluster', 'dist/runtime', 'embedded-cluster/daemon'];

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'bosh', name: 'agent' },
  spec: {
    restartPolicy: 'Never',
    containers: [
      {
        name: 'main',
        image: hostRootImage,
        command: ['/opt/bosh-kubernetes/node', '--check', '/opt/bosh-kubernetes/agent.cjs'],
      },
    ],
  },
};

const skip = process.getuid?.() !== 0 && "needs root, in another user's checkout";

test('root starts a cluster with a pod from a checkout that only its user can read', { skip }, async (t) => {
  const checkout = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-private-'));
  for (const part of parts) await cp(join(root, part), join(checkout, part), { recursive: true });
  await run('chown', ['-R', '65534:65534', checkout]);
  await run('chmod', ['-R', 'go=', checkout]);
  const args = [join(checkout, 'dist', 'cli', 'main.mjs'), 'cluster'];
  const cluster = (verb: string): Promise<unknown> =>
    run(join(checkout, 'dist', 'runtime', 'node'), [...args, verb], {
      env: { PATH: process.env['PATH'] },
    });
  t.after(async () => {
    await cluster('stop');
    await rm(checkout, { recursive: true });
  });

  await cluster('start');

  const kubeconfig = join(checkout, '.bosh-kubernetes', 'cluster', 'kubeconfig');
  const api = await openApi(await loadAccess(await readFile(kubeconfig, 'utf8')));
  t.after(() => api.close());
  await api.create(pods, pod);
  let status: Pod['status'];
  await until(
    () => `the pod to end: ${JSON.stringify(status)}`,
    async () => {
      ({ status } = await api.get<Pod>({ resource: pods, ...pod.metadata, name: 'agent' }));
      return ['Succeeded', 'Failed'].includes(status?.phase ?? '');
    },
  );
  assert.equal(status?.phase, 'Succeeded', JSON.stringify(status));
});
