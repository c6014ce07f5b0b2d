import assert from 'node:assert/strict';
import type { Access } from '../access/access.ts';
import type { HostileServers } from './hostile-server.ts';
import { type ConformanceCase, access, fails, parseEcho, using } from './transport-case.ts';

/** Cases for transports that support a proxy, in addition to the others. Independent of a test runner. */
export const proxyConformance: readonly ConformanceCase[] = [
  {
    name: 'reaches the server through a proxy, to which it shows its password, with the TLS of the server',
    run: (make, servers) =>
      using(make({ ...proxied(servers), proxy: servers.proxy }), async (transport) => {
        const body = 'x'.repeat(1000);
        const echo = parseEcho(await transport.request({ method: 'POST', path: '/echo', body }));

        assert.deepEqual([echo.method, echo.body], ['POST', body]);
        assert.equal(echo.headers['proxy-authorization'], undefined);
      }),
  },
  {
    name: 'verifies the server behind a proxy',
    run: (make, servers) =>
      fails(make({ ...proxied(servers), proxy: servers.proxy, ca: servers.otherCa }), '/echo', 'tls'),
  },
  {
    name: 'says of a server that speaks plain http what it is, and asks for no other certificate',
    run: (make, servers) => {
      const { port } = new URL(servers.refusingProxy);
      return using(make({ ...access(servers), server: `https://127.0.0.1:${port}` }), (transport) =>
        assert.rejects(transport.request({ method: 'GET', path: '/echo' }), (error) => {
          assert.match(String(error), /does not speak TLS \(EPROTO\); check that this port is for https/u);
          return true;
        }),
      );
    },
  },
  {
    name: 'reports a proxy that opens no tunnel, and a proxy that is not there',
    run: async (make, servers) => {
      await fails(make({ ...proxied(servers), proxy: servers.refusingProxy }), '/echo');
      const nowhere = servers.refusedServer.replace('https:', 'http:');
      await fails(make({ ...proxied(servers), proxy: nowhere }), '/echo', 'refused');
    },
  },
];

const proxied = (servers: HostileServers): Access => ({
  ...access(servers),
  server: servers.proxiedServer,
  tlsServerName: 'localhost',
});
