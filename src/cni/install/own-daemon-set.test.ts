import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { startTlsServer } from '../../kubernetes/testing/tls-server.ts';
import { daemonSetState } from './own-daemon-set.ts';

async function answered(context: TestContext, code: number, body: object): ReturnType<typeof daemonSetState> {
  const asked: string[] = [];
  const { access, server, close } = await startTlsServer((request, response: ServerResponse) => {
    asked.push(`${request.method} ${request.url}`);
    const status = request.url === '/readyz' ? 200 : code;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  context.after(close);
  // only the client may end the connection: an open one would keep the process alive until it is killed
  server.keepAliveTimeout = 0;
  const connected = once(server, 'secureConnection') as Promise<[Socket]>;
  const state = await daemonSetState({ ...access, namespace: 'kube-system' }, 'static-ip');
  // after a 403 the client checks whether the server is only starting, and sends the request once more
  const asks = 'GET /apis/apps/v1/namespaces/kube-system/daemonsets/static-ip';
  const again = code === 403 ? ['GET /readyz', asks] : [];
  assert.deepEqual(asked, [asks, ...again]);
  const [socket] = await connected;
  if (!socket.closed) await once(socket, 'close');
  return state;
}

const status = (code: number): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  code,
  message: 'no',
});

test('tells a DaemonSet that is there from one that goes, is gone, or may not be seen', async (context) => {
  const metadata = { name: 'static-ip' };
  assert.equal(await answered(context, 200, { metadata }), 'there');
  assert.equal(
    await answered(context, 200, { metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    'removed',
  );
  assert.equal(await answered(context, 404, status(404)), 'removed');
  assert.equal(await answered(context, 401, status(401)), 'refused');
  assert.equal(await answered(context, 403, status(403)), 'refused');
});
