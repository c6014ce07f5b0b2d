import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { loadAccess } from '../access/kubeconfig-access.ts';
import { streamExec } from './stream-exec.ts';

test('an interrupt ends the connection to an API server that does not respond', async (t) => {
  const interrupted = new AbortController();
  const connections: Socket[] = [];
  const server = createServer((connection) => {
    connections.push(connection);
    // The first bytes are the beginning of the TLS handshake.
    connection.once('data', () => interrupted.abort(new Error('interrupted')));
  });
  t.after(() => {
    for (const connection of connections) connection.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const access = await loadAccess({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'main' },
    contexts: [{ name: 'main', context: { cluster: 'main', user: 'main' } }],
    clusters: [{ name: 'main', cluster: { server: `https://127.0.0.1:${port}` } }],
    users: [{ name: 'main', user: { token: 'token' } }],
  });

  const running = streamExec(
    access,
    { namespace: 'default', pod: 'pod', container: 'container', command: ['true'] },
    { onOutput: () => undefined, signal: interrupted.signal },
  );

  await assert.rejects(running, /interrupted/);
  assert.equal(connections.length, 1);
});
