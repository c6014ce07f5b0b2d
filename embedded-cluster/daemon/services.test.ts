import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'node:test';
import { builtCluster } from './cluster-state.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openApi } from '../../src/kubernetes/client/rest-api.ts';
import { endpointSlices, services } from '../../src/kubernetes/resources.ts';
import type { EndpointSlice, Service } from '../../src/kubernetes/types/service.ts';
import { removeClusterDirectory } from './remove-cluster-directory.ts';
import { startDaemon } from './start-daemon.ts';
import { stopDaemon } from './stop-daemon.ts';
import { describeAsUsers } from './testing/as-users.ts';

const nodePort = 31_999;
const clusterIP = '127.127.0.99';
const namespace = 'bosh';

/**
 * Returns the first response from this address within ten seconds. Connections are refused while the cluster
 * is down.
 */
async function answer(host: string, port: number): Promise<string> {
  for (let tries = 0; tries < 1000; tries += 1) {
    const socket = connect({ host, port });
    const response = await text(socket).catch(() => '');
    if (response !== '') return response;
    await delay(10);
  }
  return `nobody at ${host}:${port}`;
}

describeAsUsers(import.meta.filename, () => {
  test('node ports and cluster addresses are served by each run of the cluster', async (t) => {
    const directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes services ')));
    const runtimeDirectory = join(directory, 'runtime');
    await mkdir(runtimeDirectory);
    const job = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
    await once(job, 'listening');
    t.after(async () => {
      job.close();
      await stopDaemon(directory, { grace: 2_000 });
      await removeClusterDirectory(directory);
    });
    const main = builtCluster(join(import.meta.dirname, '..', '..'));
    const options = { directory, runtimeDirectory, nodeBinary: process.execPath, main };
    const { process: first } = await startDaemon(options);
    const api = await openApi(await loadAccess(await readFile(join(directory, 'kubeconfig'), 'utf8')));
    const port = 8_099;
    await api.create<Service>(services, {
      metadata: { namespace, name: 'web' },
      spec: { type: 'NodePort', clusterIP, ports: [{ port, nodePort }] },
    });
    await api.create<EndpointSlice>(endpointSlices, {
      metadata: { namespace, name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
      ports: [{ port: (job.address() as AddressInfo).port }],
    });
    api.close();
    const listeners = [
      ['127.0.0.1', nodePort],
      [clusterIP, port],
    ] as const;
    for (const [host, number] of listeners) assert.equal(await answer(host, number), 'hello');
    process.kill(first.pid, 'SIGKILL');
    await startDaemon(options);
    for (const [host, number] of listeners) assert.equal(await answer(host, number), 'hello');
  });
});
