import { after, before, suite, test } from 'node:test';
import { NodeHttpsTransport } from './node-transport.ts';
import { startHostileServers } from '../testing/hostile-server.ts';
import { proxyConformance } from '../testing/proxy-conformance.ts';
import { transportConformance } from '../testing/transport-conformance.ts';

suite('node:https transport', () => {
  let servers: Awaited<ReturnType<typeof startHostileServers>>;
  before(async () => {
    servers = await startHostileServers();
  });
  after(() => servers.close());

  for (const { name, run } of [...transportConformance, ...proxyConformance]) {
    test(name, () => run((access, options) => new NodeHttpsTransport(access, options), servers));
  }
});
