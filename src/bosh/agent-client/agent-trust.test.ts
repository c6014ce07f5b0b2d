import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeServerCertificate } from '../testing/certificates.ts';
import { FakeAgent, startAgent } from './testing/fake-agent.ts';

test('a certificate of another CA is refused at once', async (t) => {
  const agent = await startAgent(t);
  const other = await makeServerCertificate();
  await assert.rejects(agent.client({ ca: other.ca }).ping(), {
    code: 'AGENT_UNTRUSTED',
    message: /cloud_provider\.cert\.ca/,
  });
  await assert.rejects(agent.client({ ca: undefined }).ping(), { code: 'AGENT_UNTRUSTED' });
  await assert.rejects(agent.client({ ca: undefined }).getState(), { code: 'AGENT_UNTRUSTED' });
  assert.deepEqual([agent.calls, agent.slept], [[], []]);
});

test('a certificate for another address is refused', async (t) => {
  const agent = new FakeAgent();
  const elsewhere = await makeServerCertificate('10.9.9.9');
  await agent.listen(t, elsewhere);
  await assert.rejects(agent.client({ ca: elsewhere.ca }).ping(), { code: 'AGENT_UNTRUSTED' });
});

test('credentials never appear in an error', async (t) => {
  const agent = await startAgent(t);
  const failing = [
    agent.client({ credentials: 'mbus:hunter2' }),
    agent.client({ mbusUrl: 'https://mbus:hunter2@127.0.0.1:1' }),
    agent.client({ mbusUrl: 'https://mbus:hunter2@host.invalid:1' }),
  ];
  for (const client of failing) {
    await assert.rejects(client.ping(), (error: Error) => {
      assert.ok(!`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`.includes('hunter2'));
      return true;
    });
  }
  await assert.rejects(agent.client({ credentials: 'mbus:wrong' }).ping(), {
    code: 'AGENT_UNTRUSTED',
    message: /user and password/,
  });
  assert.throws(() => agent.client({ mbusUrl: 'nats://mbus:hunter2@x' }), {
    code: 'INVALID_ARGUMENT',
    message: /^[^2]*$/,
  });
});
