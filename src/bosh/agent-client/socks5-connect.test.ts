import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { startTunnel } from '../../tunnel/start-tunnel.ts';
import { makeServerCertificate } from '../testing/certificates.ts';
import { parseAllProxy, socks5Connect } from './socks5-connect.ts';
import { FakeAgent, startAgent } from './testing/fake-agent.ts';

/** Starts a proxy that knows only 10.244.0.6, which is the agent at `port`. */
async function startProxy(t: TestContext, port: number) {
  const requests: string[] = [];
  const proxy = await startTunnel({
    port: 0,
    uid: undefined,
    log: () => undefined,
    connect: async ({ host, port: requested }) => {
      requests.push(`${host}:${requested}`);
      if (host !== '10.244.0.6') throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
  });
  t.after(() => proxy.close());
  return { requests, proxy: { host: '127.0.0.1', port: proxy.port } };
}

test('an agent is reached through the proxy only, and its certificate is verified for its own address', async (t) => {
  const agent = new FakeAgent();
  const certificate = await makeServerCertificate('10.244.0.6');
  await agent.listen(t, certificate);
  const { proxy, requests: asked } = await startProxy(t, agent.port);
  const through = (host: string) =>
    agent.client({ mbusUrl: `https://mbus:p%40ss@${host}:6868`, proxy, ca: certificate.ca });
  await through('10.244.0.6').ping();
  assert.deepEqual(asked, ['10.244.0.6:6868']);
  await assert.rejects(through('10.244.0.7').ping(), {
    code: 'AGENT_UNREACHABLE',
    message: /BOSH_ALL_PROXY was refused the connection/,
  });
});

test('a certificate for another address is refused through the proxy too', async (t) => {
  const agent = await startAgent(t);
  const { proxy } = await startProxy(t, agent.port);
  const client = agent.client({ mbusUrl: 'https://mbus:p%40ss@10.244.0.6:6868', proxy });
  await assert.rejects(client.ping(), { code: 'AGENT_UNTRUSTED' });
});

test('a proxy that never answers fails at a deadline', async (t) => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  const proxy = { host: '127.0.0.1', port: (silent.address() as AddressInfo).port };
  await assert.rejects(
    socks5Connect(proxy, { host: '10.0.0.1', port: 1 }, AbortSignal.timeout(50)),
    /in time/,
  );
});

test('BOSH_ALL_PROXY must be a socks5 URL, and errors quote no part of it', () => {
  assert.deepEqual(parseAllProxy('socks5://127.0.0.1:1080'), { host: '127.0.0.1', port: 1080 });
  assert.deepEqual(parseAllProxy('socks5://[::1]:1080'), { host: '::1', port: 1080 });
  assert.equal(parseAllProxy(''), undefined);
  for (const [text, sentence] of [
    [
      'ssh+socks5://jumpbox@192.0.2.1:22?private-key=hunter2',
      /ssh\+socks5 URL, which only the bosh CLI can use/,
    ],
    ['http://192.0.2.1:3128', /is not a socks5 URL/],
    ['socks5://user:hunter2@192.0.2.1:1080', /user or password/],
    ['socks5://192.0.2.1', /names no port/],
    ['hunter2', /is not a socks5 URL/],
  ] as const)
    assert.throws(
      () => parseAllProxy(text),
      (error: Error) => sentence.test(error.message) && !error.message.includes('hunter2'),
    );
});
