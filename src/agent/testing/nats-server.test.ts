import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NatsConnection } from '../mbus/nats-connection.ts';
import { eventually } from './eventually.ts';
import { noNatsServer, TestNatsServer } from './nats-server.ts';

test(
  'the violations are the forbidden subjects that an agent published or subscribed to',
  { skip: noNatsServer },
  async (t) => {
    const server = await TestNatsServer.start();
    t.after(() => server.stop());
    await server.admit([{ id: 'one', kinds: ['permanent'] }]);
    const { ca = '', ...pair } = await server.agentCertificate('one', 'permanent');
    const options = {
      server: { host: server.address, port: server.port },
      credentials: { ...pair, ca },
      ...{ onMessage: () => undefined, onError: () => undefined },
    };
    const connection = await NatsConnection.open({ ...options, subject: 'agent.one' });
    t.after(() => connection.close());
    connection.publish('hm.agent.heartbeat.one', '{}');
    assert.deepEqual(await server.violations(), []);

    connection.publish('hm.agent.heartbeat.two', '{}');
    await assert.rejects(NatsConnection.open({ ...options, subject: 'agent.*' }));

    const violations = await eventually('both violations', async () => {
      const found = await server.violations();
      return found.length === 2 ? found.toSorted() : undefined;
    });
    for (const subject of ['hm.agent.heartbeat.two', 'agent.*'])
      assert.ok(
        violations.some((line) => line.includes(`"${subject}"`)),
        violations.join('\n'),
      );
  },
);
