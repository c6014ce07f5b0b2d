import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { openApi } from '../kubernetes/client/rest-api.ts';
import { startPortForwardServer } from '../kubernetes/testing/port-forward-server.ts';
import { startTunnel } from './start-tunnel.ts';
import { openTunnel, tunnelCases, type TunnelWorld } from './testing/tunnel-cases.ts';

async function listen(t: TestContext, serve: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

const metadataOf = (name: string) => ({ name, namespace: 'bosh', uid: `uid-${name}`, resourceVersion: '1' });

const pod = (name: string, ip: string, spec: object = {}) => ({
  metadata: metadataOf(name),
  spec: { containers: [], ...spec },
  status: { phase: 'Running', podIP: ip, podIPs: [{ ip }, { ip: `fd00::${ip.split('.')[3]}` }] },
});

const service = (name: string, spec: object) => ({ metadata: metadataOf(name), spec });

/** Starts a cluster with a pod `vm-1` (10.244.0.6) that listens on port 25555 and is selected by Services. */
async function fakeCluster(t: TestContext) {
  const cluster = await startPortForwardServer();
  t.after(cluster.close);
  cluster.objects.set('/api/v1/namespaces/bosh/pods', [
    pod('vm-1', '10.244.0.6'),
    pod('on-node', '10.244.0.7', { hostNetwork: true }),
  ]);
  cluster.objects.set('/api/v1/namespaces/bosh/services', [
    service('director', {
      clusterIP: '10.96.0.9',
      ports: [
        { name: 'https', port: 443 },
        { port: 53, protocol: 'UDP' },
      ],
    }),
    service('headless', { clusterIP: 'None' }),
    service('idle', { clusterIP: '10.96.0.10', ports: [{ port: 80 }] }),
    service('outside', { type: 'ExternalName', externalName: 'example.com' }),
  ]);
  const slice = (of: string, ports: object[]) => ({
    metadata: { ...metadataOf(of), labels: { 'kubernetes.io/service-name': of } },
    addressType: 'IPv4',
    endpoints: [
      { addresses: ['10.244.0.8'], conditions: { ready: false }, targetRef: { kind: 'Pod', name: 'vm-2' } },
      { addresses: ['10.244.0.6'], conditions: { ready: true }, targetRef: { kind: 'Pod', name: 'vm-1' } },
    ],
    ports,
  });
  cluster.objects.set('/apis/discovery.k8s.io/v1/namespaces/bosh/endpointslices', [
    slice('director', [{ name: 'https', port: 25555, protocol: 'TCP' }]),
    slice('headless', []),
  ]);
  cluster.listeners.set('bosh/vm-1:25555', await listen(t, (socket) => socket.end('the director')));
  cluster.listeners.set('bosh/vm-1:26', await listen(t, (socket) => socket.write('begun')));
  const api = await openApi(cluster.access);
  t.after(() => api.close());
  const world: TunnelWorld = {
    ...{ access: cluster.access, api, namespace: 'bosh', networks: ['10.244.0.0/16', 'fd00::/64'] },
    pod: { name: 'vm-1', address: '10.244.0.6' },
    service: { name: 'director', address: '10.96.0.9' },
    absent: '10.244.0.9',
    restartApi: () => Promise.resolve(cluster.breakConnections()),
  };
  return { cluster, world };
}

async function withTunnel(t: TestContext, options: { handshakeMs?: number } = {}) {
  const { cluster, world } = await fakeCluster(t);
  return { cluster, ...(await openTunnel(t, world, options)) };
}

for (const { name, run } of tunnelCases)
  test(name, async (t) => {
    const { world } = await fakeCluster(t);
    await run(t, world);
  });

test("a pod is reached by its second address, and a headless Service by its pod's port", async (t) => {
  const { open } = await withTunnel(t);
  for (const host of ['fd00::6', 'headless.bosh.svc'])
    assert.equal(await text(await open(host, 25555)), 'the director');
});

test('destinations outside of the cluster are connected directly, by name and by address, and each direction ends by itself', async (t) => {
  const { cluster, open } = await withTunnel(t);
  const port = await listen(t, (socket) => void text(socket).then((question) => socket.end(`${question}?`)));
  for (const host of ['127.0.0.1', 'localhost']) {
    const socket = await open(host, port);
    socket.end('who');
    assert.equal(await text(socket), 'who?');
  }
  assert.deepEqual(
    cluster.requests.filter((request) => request.startsWith('UPGRADE')),
    [],
  );
});

test('an address or name in the cluster without a pod is refused with the remedy', async (t) => {
  const { open, log, cluster } = await withTunnel(t);
  for (const [host, port, sentence] of [
    ['10.244.0.7', 80, /No running pod/],
    ['director.bosh.svc', 25555, /Service bosh\/director has no TCP port 25555; it has 443/],
    ['absent.bosh.svc', 80, /has no Service 'absent'/],
    ['idle.bosh.svc', 80, /No pod behind Service bosh\/idle is ready/],
    ['outside.bosh.svc', 80, /is an ExternalName for example\.com/],
    ['director.other.svc', 80, /--namespace other/],
    ['gone.bosh.pod', 80, /Pod bosh\/gone does not exist/],
  ] as const) {
    await assert.rejects(open(host, port), /refuses that address/, host);
    assert.match(log.at(-1) ?? '', sentence);
  }
  assert.deepEqual(
    cluster.requests.filter((request) => request.startsWith('UPGRADE')),
    [],
  );
});

/** The two responses of a SOCKS5 proxy, with an IPv4 address (RFC 1928). */
const socksBytes = 2 + 10;

test('a slow client receives all bytes that a pod sent before its connection broke', async (t) => {
  const { cluster, open, log } = await withTunnel(t);
  const size = 2 * 1024 * 1024;
  cluster.listeners.set('bosh/vm-1:27', await listen(t, (socket) => socket.write(Buffer.alloc(size))));
  const socket = await open('10.244.0.6', 27);
  socket.pause();
  while (cluster.forwarded() < size) await new Promise((done) => setTimeout(done, 10));
  cluster.resetPods();
  const read = async (): Promise<void> => {
    for await (const _ of socket as AsyncIterable<Buffer>) {
      // read more slowly than the tunnel sends
      for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
    }
  };
  await assert.rejects(read(), { code: 'ECONNRESET' });
  // What the process has received: if it is slow, Node drops what it has not read before the error.
  assert.equal(socket.bytesRead, socksBytes + size);
  assert.match(log.join(), /connection reset by peer/);
});

test('a client that ends after the response, or before any request, leaves no line in the log', async (t) => {
  const { open, port, log } = await withTunnel(t);
  const ended = Promise.withResolvers<void>();
  const server = await listen(t, (socket) => {
    socket.on('end', () => socket.resetAndDestroy());
    socket.on('close', () => ended.resolve());
    socket.write('answer');
  });
  const client = await open('127.0.0.1', server);
  await once(client, 'readable');
  client.end();
  // like a program that has exited and receives no reset
  client.destroySoon();
  await ended.promise;
  const early = connect(port, '127.0.0.1', () => early.write(Uint8Array.of(5, 1, 0)));
  await once(early, 'readable');
  early.resetAndDestroy();
  assert.equal(await text(await open('10.244.0.6', 25555)), 'the director');
  assert.deepEqual(log, []);
});

test('a repeated failure is logged once', async (t) => {
  const { open, log } = await withTunnel(t);
  for (let attempt = 0; attempt < 3; attempt += 1)
    await assert.rejects(async () => text(await open('10.244.0.6', 6868)), { code: 'ECONNRESET' });
  assert.equal(log.length, 1);
});

test('a client that stalls is refused', async (t) => {
  const { port, log } = await withTunnel(t, { handshakeMs: 200 });
  const socket = connect(port, '127.0.0.1');
  // The end is a reset if the tunnel has not read what the client sent.
  socket.on('error', () => undefined);
  socket.resume().write(Uint8Array.of(5, 1));
  await once(socket, 'close');
  assert.equal(socket.bytesRead, 0);
  assert.match(log.at(-1) ?? '', /timed out before it sent a destination/);
});

test('a client of another protocol is refused, and one that disconnects affects no other', async (t) => {
  const { open, port, log } = await withTunnel(t);
  const other = connect(port, '127.0.0.1');
  other.write('GET / HTTP/1.1\r\n\r\n');
  await text(other);
  assert.match(log.at(-1) ?? '', /does not speak SOCKS5/);
  const client = connect(port, '127.0.0.1', () => client.resetAndDestroy());
  await once(client, 'close');
  assert.equal(await text(await open('10.244.0.6', 25555)), 'the director');
});

test('a port in use is named with the remedy', async (t) => {
  const { port } = await withTunnel(t);
  await assert.rejects(
    startTunnel({
      port,
      connect: () => Promise.reject(new Error()),
      uid: 0,
      log: () => undefined,
    }),
    { code: 'TUNNEL_NOT_STARTED', message: /--port/ },
  );
});
