import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { WebSocket } from 'ws';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import { pods } from '../../../src/kubernetes/resources.ts';
import { startTestServer } from '../testing/test-server.ts';
import type { TestServer } from '../testing/test-server.ts';

async function serverWithPod(t: TestContext): Promise<TestServer> {
  const server = await startTestServer(t);
  const containers = [{ name: 'bosh', image: 'x:1' }];
  const pod: KubernetesObject & { spec: object } = {
    metadata: { namespace: 'bosh', name: 'vm' },
    spec: { containers },
  };
  await server.api.create(pods, pod);
  await server.api.bindPod('bosh', 'vm', 'embedded');
  return server;
}

const log = '/api/v1/namespaces/bosh/pods/vm/log';

function connect(server: TestServer, query: string, protocols: string[]): WebSocket {
  const { authority, adminCertificate, adminKey } = server.credentials;
  return new WebSocket(`${server.url}/api/v1/namespaces/bosh/pods/vm/exec?${query}`, protocols, {
    ...{ ca: authority, cert: adminCertificate, key: adminKey },
  });
}

/** Collects all messages by channel until the server closes the connection. */
async function collect(socket: WebSocket): Promise<Record<number, string>> {
  const channels: Record<number, string> = {};
  socket.on('message', (data: Buffer) => {
    const [channel = -1] = data;
    channels[channel] = `${channels[channel] ?? ''}${data.subarray(1).toString()}`;
  });
  await new Promise((resolve, reject) => socket.on('close', resolve).on('error', reject));
  return channels;
}

const limit = { timeout: 20_000 };

test('options of a log request reach the node', limit, async (t) => {
  const server = await serverWithPod(t);
  server.console.print('line');
  const answer = await server.call(
    `${log}?tailLines=3&timestamps=true&limitBytes=10&sinceTime=2030-01-01T00:00:00Z`,
  );
  assert.equal(answer.text, 'line\n');
  const [request] = server.console.logRequests;
  assert.equal(request?.container, 'bosh');
  assert.deepEqual(
    [
      request.tailLines,
      request.timestamps,
      request.limitBytes,
      request.sinceTime?.toISOString(),
      request.follow,
    ],
    [3, true, 10, '2030-01-01T00:00:00.000Z', false],
  );
});

test('invalid log options are refused', limit, async (t) => {
  const server = await serverWithPod(t);
  assert.equal((await server.call(`${log}?tailLines=-1`)).code, 422);
  assert.equal((await server.call(`${log}?tailLines=x`)).code, 400);
  assert.equal((await server.call(`${log}?sinceSeconds=1&sinceTime=2030-01-01T00:00:00Z`)).code, 400);
  assert.equal((await server.call(`${log}?container=none`)).code, 400);
  assert.equal((await server.call(`${log}?previous=true`)).code, 400);
  assert.equal((await server.call('/api/v1/namespaces/bosh/pods/none/log')).code, 404);
});

test(
  'following a silent container responds at once and ends when the client disconnects',
  limit,
  async (t) => {
    const server = await serverWithPod(t);
    const response = await server.open(`${log}?follow=true`);
    assert.equal(response.statusCode, 200);
    const [request] = server.console.logRequests;
    const aborted = new Promise((resolve) => request?.signal.addEventListener('abort', resolve));
    response.destroy();
    await aborted;
  },
);

test('v5 and v4 carry output, and the exit code on the error channel', limit, async (t) => {
  const server = await serverWithPod(t);
  for (const protocol of ['v5.channel.k8s.io', 'v4.channel.k8s.io']) {
    const socket = connect(server, 'command=fail&command=7&stdout=true&stderr=true', ['other', protocol]);
    const channels = await collect(socket);
    assert.equal(socket.protocol, protocol);
    assert.equal(channels[2], 'it failed\n');
    const status = JSON.parse(channels[3] ?? '') as { reason: string; details: { causes: unknown } };
    assert.equal(status.reason, 'NonZeroExitCode');
    assert.deepEqual(status.details.causes, [{ reason: 'ExitCode', message: '7' }]);
  }
});

test('outputs that were not requested are not sent', limit, async (t) => {
  const server = await serverWithPod(t);
  const channels = await collect(
    connect(server, 'command=fail&command=0&stdout=true', ['v5.channel.k8s.io']),
  );
  assert.deepEqual(Object.keys(channels), ['3']);
});

test('stdin sent with the handshake arrives, its end too, and sizes reach the terminal', limit, async (t) => {
  const server = await serverWithPod(t);
  const socket = connect(server, 'command=cat&stdin=true&stdout=true&tty=true', ['v5.channel.k8s.io']);
  socket.on('open', () => {
    socket.send(Buffer.concat([Buffer.of(4), Buffer.from('{"Width":80,"Height":24}')]));
    socket.send(Buffer.concat([Buffer.of(0), Buffer.from('hello')]));
    socket.send(Buffer.of(255, 0));
  });
  const channels = await collect(socket);
  assert.equal(channels[1], 'hello');
  assert.equal((JSON.parse(channels[3] ?? '') as { status: string }).status, 'Success');
  assert.deepEqual(server.console.resizes, [{ columns: 80, rows: 24 }]);
  assert.equal(server.console.killed, 0);
});

test("closing the client's connection kills the command", limit, async (t) => {
  const server = await serverWithPod(t);
  const socket = connect(server, 'command=wait&stdout=true', ['v5.channel.k8s.io']);
  await new Promise((resolve) => socket.on('open', resolve));
  socket.terminate();
  const deadline = Date.now() + 10_000;
  while (server.console.killed === 0 && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(server.console.killed, 1);
});

test(
  'a request that cannot be executed is refused before the upgrade, or reported on the error channel',
  limit,
  async (t) => {
    const server = await serverWithPod(t);
    const refused = (query: string, protocols: string[]): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const socket = connect(server, query, protocols);
        socket.on('unexpected-response', (_, response) => resolve(response.statusCode));
        socket.on('open', () => reject(new Error('it was accepted')));
        socket.on('error', () => undefined);
      });
    assert.equal(await refused('stdout=true', ['v5.channel.k8s.io']), 400);
    assert.equal(await refused('command=echo&stdout=true&container=none', ['v5.channel.k8s.io']), 400);
    assert.equal(await refused('command=echo&stdout=true', ['channel.k8s.io']), 400);
    const channels = await collect(connect(server, 'command=missing&stdout=true', ['v5.channel.k8s.io']));
    assert.match(channels[3] ?? '', /executable file not found/);
  },
);

test('exec without an upgrade or over SPDY is refused with the supported protocol', limit, async (t) => {
  const server = await serverWithPod(t);
  const path = '/api/v1/namespaces/bosh/pods/vm/exec?command=echo&stdout=true';
  assert.equal((await server.call(path, { method: 'POST' })).code, 400);
  const spdy = await server.call(path, {
    method: 'POST',
    headers: { connection: 'upgrade', upgrade: 'SPDY/3.1' },
  });
  assert.equal(spdy.code, 400);
  assert.match(spdy.text, /over WebSocket only/);
});

test('an eviction is a graceful delete', limit, async (t) => {
  const server = await serverWithPod(t);
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'vm' },
    deleteOptions: { gracePeriodSeconds: 5 },
  };
  assert.equal(
    (await server.call('/api/v1/namespaces/bosh/pods/vm/eviction', { method: 'POST', body })).code,
    201,
  );
  const pod = await server.api.get({ resource: pods, namespace: 'bosh', name: 'vm' });
  assert.equal(pod.metadata.deletionGracePeriodSeconds, 5);
});
