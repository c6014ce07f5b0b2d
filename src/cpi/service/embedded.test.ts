import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { describeInOneNamespace } from '../../../embedded-cluster/node/testing/in-namespace.ts';
import { ServiceProxy } from '../../../embedded-cluster/service-proxy/service-proxy.ts';
import { systemClock } from '../../platform/clock.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import { services } from '../../kubernetes/resources.ts';
import { EmbeddedWorld } from '../testing/embedded-world.ts';
import { createVmRequest, namespace } from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { deleteVm } from '../vm/delete-vm.ts';

const port = 8080;
const nodePort = 30_777;

/** Tests Services with the embedded cluster's controllers, its garbage collector and its proxies. */
describeInOneNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;
  let proxy: ServiceProxy;
  const jobs: Server[] = [];

  before(async () => {
    world = await EmbeddedWorld.start();
    const onError = (error: unknown): void => void world.errors.push(error);
    const { api } = world.cloud;
    proxy = new ServiceProxy({
      api,
      nodeAddress: '127.0.0.1',
      clock: systemClock,
      random: () => 0,
      onError,
    });
    await proxy.start();
  });
  after(async () => {
    for (const job of jobs) job.close();
    await proxy.stop();
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  /** Creates a VM with a job that answers with the agent id on the VM's address. */
  async function newVm(agentId: string, ip: string): Promise<string> {
    const service = { name: 'web', type: 'NodePort', selector: 'vm', ports: [{ port, node_port: nodePort }] };
    const [cid] = await createVm(
      world.cloud,
      createVmRequest({
        agentId,
        properties: { services: [service] },
        networks: { default: { type: 'manual', ip } },
        env: { bosh: { group: 'd-web' } },
      }),
    );
    const job = createServer((socket) => socket.end(agentId)).listen({ host: ip, port });
    await once(job, 'listening');
    jobs.push(job);
    return cid;
  }

  async function ask(): Promise<string | undefined> {
    const socket = connect({ host: '127.0.0.1', port: nodePort });
    try {
      const answer = await text(socket);
      return answer === '' ? undefined : answer;
    } catch {
      return undefined;
    }
  }

  async function until(wanted: string): Promise<void> {
    for (let tries = 0; tries < 1000; tries += 1) {
      if ((await ask()) === wanted) return;
      await delay(10);
    }
    assert.fail(`${wanted} does not answer at the node port`);
  }

  test('create-swap-delete: the node port leads to the VM, then to its successor, and closes with the last', async () => {
    const former = await newVm('former', '127.64.7.1');
    await until('former');
    const next = await newVm('next', '127.64.7.2');
    assert.equal(await ask(), 'former');
    await deleteVm(world.cloud, { vmCid: former });
    await until('next');
    await deleteVm(world.cloud, { vmCid: next });
    const reference = { resource: services, namespace, name: 'web' };
    await assert.rejects(world.cloud.api.get(reference), (error) => isApiError(error, 404));
    for (let tries = 0; tries < 1000 && (await ask()) !== undefined; tries += 1) await delay(10);
    assert.equal(await ask(), undefined);
  });
});
