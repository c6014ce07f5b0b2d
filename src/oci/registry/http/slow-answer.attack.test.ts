import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { NodeTransport } from './node-transport.ts';
import { ConnectionFailure } from './registry-transport.ts';

test(
  'a response of a registry that arrives byte by byte fails at the deadline',
  { timeout: 60_000 },
  async (t) => {
    const server = createServer((_request, response) => {
      response.write('x');
      const drip = setInterval(() => response.write('x'), 5);
      response.on('close', () => clearInterval(drip));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const options = { ca: undefined, idleMs: 60_000, answerMs: 200, signal: undefined };
    const transport = new NodeTransport(options);
    t.after(() => transport.close());
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/a/manifests/b`);
    await assert.rejects(transport.send({ method: 'GET', url, headers: {} }), ConnectionFailure);
    const body = {
      size: 1,
      open: async function* () {
        yield Buffer.from('x');
      },
    };
    await assert.rejects(transport.send({ method: 'PATCH', url, headers: {}, body }), ConnectionFailure);
  },
);
