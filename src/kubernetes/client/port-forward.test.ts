import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { startTestServer } from '../../../embedded-cluster/api-server/testing/test-server.ts';
import { loadAccess } from '../access/kubeconfig-access.ts';
import { openPodPort, type PodPortOptions } from './port-forward.ts';
import { startPortForwardServer } from '../testing/port-forward-server.ts';

/** Starts a pod `web` whose port 80 is served by `serve`. */
async function withPod(t: TestContext, serve: (socket: Socket) => void) {
  const server = await startPortForwardServer();
  t.after(server.close);
  server.objects.set('/api/v1/namespaces/bosh/pods', [{ metadata: { name: 'web', namespace: 'bosh' } }]);
  const listener = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    serve(socket);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.after(() => listener.close());
  server.listeners.set('bosh/web:80', (listener.address() as AddressInfo).port);
  const open = (port = 80, pod = 'web', options?: PodPortOptions) =>
    openPodPort(server.access, { namespace: 'bosh', pod, port }, options);
  return { server, open };
}

test('bytes arrive whole in both directions, more than any buffer holds', async (t) => {
  const { open } = await withPod(t, (socket) => {
    socket.pipe(socket);
    socket.on('end', () => socket.end());
  });
  const sent = randomBytes(8 * 1024 * 1024);
  const stream = await open();
  stream.write(sent);
  let length = 0;
  const received: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    received.push(chunk);
    length += chunk.length;
    if (length >= sent.length) break;
  }
  assert.ok(Buffer.concat(received).equals(sent));
});

test('a reader that pauses makes the sender wait', async (t) => {
  const sent: number[] = [];
  const { open } = await withPod(t, (socket) => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) sent.push(65_536);
    };
    socket.on('drain', more);
    more();
  });
  const stream = await open();
  // the sender has stopped when two checks in a row see the same length; without back-pressure it never would
  for (
    let before = -1;
    before !== sent.length || before === 0;
    await new Promise((done) => setTimeout(done, 100))
  )
    before = sent.length;
  assert.ok(sent.length < 1024, `${sent.length} pieces of 64 KiB`);
  stream.destroy();
});

test('after its own end a client gets the answer, and the stream ends when the pod is quiet', async (t) => {
  const { open } = await withPod(t, (socket) => socket.once('data', () => socket.write('answer')));
  const stream = await open(80, 'web', { quietMs: 50 });
  stream.end('question');
  assert.equal(await text(stream), 'answer');
});

test('a port that nobody listens on, a pod that is not there and a server without port forwarding are told apart', async (t) => {
  const { open } = await withPod(t, (socket) => socket.end());
  await assert.rejects(open(81).then(buffer), {
    code: 'POD_PORT_CLOSED',
    message: /Port 81 of pod bosh\/web refuses connections/,
  });
  await assert.rejects(open(80, 'gone'), { code: 404 });
  await assert.rejects(open(80, 'unknown'), { code: 'NOT_SUPPORTED', message: /embedded cluster/ });
});

test('a broken connection is an error and no end; the next one works; an idle one is pinged', async (t) => {
  const { open, server } = await withPod(t, (socket) => socket.write('begun'));
  const stream = await open(80, 'web', { pingMs: 10 });
  await once(stream, 'readable');
  while (server.pings() === 0) await new Promise((done) => setTimeout(done, 10));
  server.breakConnections();
  await assert.rejects(text(stream), { code: 'KUBERNETES_UNREACHABLE' });
  const next = await open();
  await once(next, 'readable');
  next.destroy();
});

test('the embedded cluster is named as one that serves no port forwarding', async (t) => {
  const { directory } = await startTestServer(t);
  const access = await loadAccess(await readFile(join(directory, 'kubeconfig'), 'utf8'), { directory });
  await assert.rejects(openPodPort(access, { namespace: 'default', pod: 'vm-1', port: 22 }), {
    code: 'NOT_SUPPORTED',
    message: /embedded cluster/,
  });
});
