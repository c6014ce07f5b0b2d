import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { text } from 'node:stream/consumers';
import { systemClock } from '../../src/platform/clock.ts';
import type { EventRecord } from '../../src/kubernetes/describe-pod.ts';
import { endpointSlices, events, services } from '../../src/kubernetes/resources.ts';
import type { EndpointSlice, Service, ServiceSpec } from '../../src/kubernetes/types/service.ts';
import { type LocalApi, openLocalApi } from '../api-server/local-api.ts';
import { until } from '../../test/support/until.ts';
import { ServiceProxy } from './service-proxy.ts';

interface World {
  readonly api: LocalApi;
  readonly restart: () => Promise<void>;
}

async function world(t: TestContext): Promise<World> {
  const directory = await mkdtemp(join(tmpdir(), 'proxy-'));
  const api = await openLocalApi({ directory });
  const errors: unknown[] = [];
  const start = async (): Promise<ServiceProxy> => {
    const started = new ServiceProxy({
      api,
      nodeAddress: '127.0.0.1',
      clock: systemClock,
      random: () => 0,
      onError: (error) => errors.push(error),
    });
    await started.start();
    return started;
  };
  let proxy = await start();
  t.after(async () => {
    await proxy.stop();
    await api.close();
    await rm(directory, { recursive: true });
    assert.deepEqual(errors, []);
  });
  return {
    api,
    restart: async () => {
      await proxy.stop();
      proxy = await start();
    },
  };
}

/** Starts a server that responds with its name and the reversed request. */
async function backend(t: TestContext, name: string, address: string): Promise<number> {
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    void text(socket).then((received) => socket.end(`${name}:${received.split('').toReversed().join('')}`));
  });
  server.listen({ host: address, port: 0 });
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

/**
 * Returns the response to a message; both sides close their half of the connection after sending. Undefined:
 * refused or reset.
 */
async function ask(address: string, port: number, message: string): Promise<string | undefined> {
  const socket = connect({ host: address, port, allowHalfOpen: true });
  socket.end(message);
  try {
    return await text(socket);
  } catch {
    return undefined;
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    // The connection was accepted and closed at once, because there is no backend.
    return (error as NodeJS.ErrnoException).code === 'ECONNRESET';
  } finally {
    socket.destroy();
  }
}

const makeService = (spec: Partial<ServiceSpec> = {}): Service => ({
  metadata: { name: 'web', namespace: 'bosh' },
  spec: { type: 'NodePort', ports: [{ port: 8080 }], ...spec },
});

function slice(ready: Record<string, boolean>, port: number): EndpointSlice {
  return {
    metadata: { name: 'web-1', namespace: 'bosh', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: Object.entries(ready).map(([address, isReady]) => ({
      addresses: [address],
      conditions: { ready: isReady },
    })),
    ports: [{ name: '', protocol: 'TCP', port }],
  };
}

const put = (api: LocalApi, object: EndpointSlice): Promise<EndpointSlice> =>
  api.replace(endpointSlices, object);

test('a Service is reached at its cluster address and its node port, and survives a restart', async (t) => {
  const { api, restart } = await world(t);
  const port = await backend(t, 'one', '127.64.9.1');
  const { spec } = await api.create<Service>(services, makeService());
  await api.create(endpointSlices, slice({ '127.64.9.1': true }, port));
  const clusterIP = spec.clusterIP ?? '';
  const nodePort = spec.ports?.[0]?.nodePort ?? 0;
  const viaCluster = (): Promise<string | undefined> => ask(clusterIP, 8080, 'hello');
  assert.equal(await until('an answer', viaCluster), 'one:olleh');
  assert.equal(await ask('127.0.0.1', nodePort, 'hello'), 'one:olleh');
  await restart();
  assert.equal(await ask('127.0.0.1', nodePort, 'hello'), 'one:olleh');
  await api.delete({ resource: services, namespace: 'bosh', name: 'web' });
  await until('the port to close', async () => (await ask('127.0.0.1', nodePort, 'x')) === undefined);
});

test('connections use the endpoints in turn, and skip one that refuses', async (t) => {
  const { api } = await world(t);
  const port = await backend(t, 'one', '127.64.9.1');
  const { spec } = await api.create<Service>(services, makeService());
  const nodePort = spec.ports?.[0]?.nodePort ?? 0;
  await until('the socket', () => isListening(nodePort));
  assert.equal(await ask('127.0.0.1', nodePort, 'x'), undefined, 'the service has no endpoint');
  // 127.64.9.3 is ready but does not listen, 127.64.9.4 is not ready.
  await api.create(
    endpointSlices,
    slice({ '127.64.9.1': true, '127.64.9.3': true, '127.64.9.4': false }, port),
  );
  await until('one', () => ask('127.0.0.1', nodePort, 'x'));
  for (let times = 0; times < 4; times += 1) assert.equal(await ask('127.0.0.1', nodePort, 'ab'), 'one:ba');
  await put(api, slice({ '127.64.9.4': false }, port));
  await until('the end of the endpoint', async () => (await ask('127.0.0.1', nodePort, 'x')) === undefined);
});

test('a closed connection of the client or the endpoint closes the other one', async (t) => {
  const { api } = await world(t);
  const ended: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('close', () => ended.push('backend'));
    socket.write('welcome');
    socket.on('data', () => socket.resetAndDestroy());
  });
  server.listen({ host: '127.64.9.1', port: 0 });
  await once(server, 'listening');
  t.after(() => server.close());
  const { spec } = await api.create<Service>(services, makeService());
  const { port } = server.address() as AddressInfo;
  // The number of refusing backends exceeds the number of listeners per event at which Node.js warns.
  const many = Array.from({ length: 30 }, (_, index) => [`127.64.8.${index + 1}`, true] as const);
  await api.create(endpointSlices, slice({ ...Object.fromEntries(many), '127.64.9.1': true }, port));
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  t.after(() => process.off('warning', note));
  const greeted = (): Promise<Socket | undefined> => {
    const socket = connect({ host: '127.0.0.1', port: spec.ports?.[0]?.nodePort ?? 0 });
    socket.on('error', () => undefined);
    return new Promise((resolve) => {
      socket.once('data', () => resolve(socket));
      socket.once('close', () => resolve(undefined));
    });
  };
  const leaving = await until('a greeting', greeted);
  leaving.resetAndDestroy();
  await until('the end of the backend', async () => ended.length === 1);
  const staying = await until('a greeting', greeted);
  const closed = new Promise((resolve) => staying.once('close', resolve));
  staying.write('x');
  await closed;
  assert.deepEqual(warnings, []);
});

test('a large message arrives complete in both directions', async (t) => {
  const { api } = await world(t);
  const port = await backend(t, 'one', '127.64.9.1');
  const { spec } = await api.create<Service>(services, makeService());
  await api.create(endpointSlices, slice({ '127.64.9.1': true }, port));
  const message = 'abc'.repeat(500_000);
  const answer = await until('an answer', () => ask('127.0.0.1', spec.ports?.[0]?.nodePort ?? 0, message));
  assert.equal(answer, `one:${'cba'.repeat(500_000)}`);
});

test('a port in use is reported by an event, and served when it is free', async (t) => {
  const { api } = await world(t);
  const port = await backend(t, 'one', '127.64.9.1');
  const squatter = createServer();
  squatter.listen({ host: '127.0.0.1', port: 32_111 });
  await once(squatter, 'listening');
  await api.create(endpointSlices, slice({ '127.64.9.1': true }, port));
  await api.create(services, makeService({ ports: [{ port: 8080, nodePort: 32_111 }] }));
  const event = await until('an event', async () => {
    const { items } = await api.list<EventRecord>(events, { namespace: 'bosh' });
    return items.find(({ reason }) => reason === 'FailedToListen');
  });
  assert.match(event.message ?? '', /127\.0\.0\.1:32111: another process/u);
  squatter.close();
  assert.equal(await until('the port', () => ask('127.0.0.1', 32_111, 'a')), 'one:a');
});
