import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { readJsonLines } from './client/json-lines.ts';
import { pods } from './resources.ts';
import { RestApi } from './client/rest-api.ts';
import { NodeHttpsTransport } from './client/node-transport.ts';
import { readTextFile } from '../platform/read-text-file.ts';
import type { Transport } from './client/transport.ts';
import { execInPod } from './client/exec.ts';
import { startExecServer } from './testing/exec-server.ts';
import { startHostileServers } from './testing/hostile-server.ts';
import { transportAttacks } from './testing/transport-attacks.ts';

const timeout = 120_000;

// fetch-transport.test.ts tests the same for Bun's transport
suite('node:https transport', { timeout }, () => {
  let servers: Awaited<ReturnType<typeof startHostileServers>>;
  before(async () => {
    servers = await startHostileServers();
  });
  after(() => servers.close());

  for (const { name, run } of transportAttacks) {
    test(name, () => run((access, options) => new NodeHttpsTransport(access, options), servers));
  }
});

test('a line of a watch that does not end is refused', { timeout }, async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield Buffer.alloc(1 << 20, 'x');
  }
  await assert.rejects(readJsonLines(endless()).next(), {
    code: 'KUBERNETES_API',
    message: /a line of more than/,
  });
});

test(
  'a command in a pod whose output does not end is left, whatever channel it comes on',
  { timeout },
  async (t) => {
    const { access, close } = await startExecServer();
    t.after(close);
    const options = { namespace: 'n', pod: 'p', container: 'c', deadlineMs: timeout };
    await assert.rejects(execInPod(access, { ...options, command: ['flood'] }), {
      code: 'KUBERNETES_UNREACHABLE',
      message: /more than 16777216 bytes/,
    });
  },
);

test(
  'a list that goes on page after page, and a file of credentials without an end, are given up',
  { timeout },
  async () => {
    const page = JSON.stringify({ metadata: { continue: 'more' }, items: [] });
    let requestCount = 0;
    const transport: Transport = {
      request: async () => {
        requestCount += 1;
        return { status: 200, headers: {}, body: page };
      },
      stream: async () => assert.fail('no stream is asked for'),
      close: () => {},
    };
    await assert.rejects(new RestApi({ transport }).list(pods), {
      code: 'KUBERNETES_API',
      message: /does not end/,
    });
    assert.equal(requestCount, 1001);
    assert.throws(() => readTextFile('/dev/zero'), { code: 'EFBIG' });
  },
);

test('a page of another server in place of JSON is refused without a quote', { timeout }, async () => {
  const transport: Transport = {
    request: async () => ({ status: 200, headers: {}, body: '<html>secret</html>' }),
    stream: async () => assert.fail('no stream is needed'),
    close: () => {},
  };
  const api = new RestApi({ transport });
  const message = /that is not JSON; check that the kubeconfig names the right server$/;
  for (const request of [() => api.version(), () => api.groups(), () => api.list(pods)])
    await assert.rejects(request(), { code: 'KUBERNETES_API', message });
});

test(
  'an answer whose text is short and whose objects are many is refused before it takes the memory',
  { timeout },
  async () => {
    const answers = (body: string, status = 200): { api: RestApi; requestCount: () => number } => {
      let requestCount = 0;
      const request = async () => {
        requestCount += 1;
        return { status, headers: {}, body };
      };
      const stream = async () => assert.fail('no stream is asked for');
      return {
        api: new RestApi({ transport: { request, stream, close: () => {} } }),
        requestCount: () => requestCount,
      };
    };
    const page = (items: string): string => `{"metadata":{"continue":"more"},"items":[${items}]}`;
    const given = { code: 'KUBERNETES_API', message: /more than \d+ values/u };
    const whole = answers(page('{},'.repeat(12 << 20) + '{}'));
    await assert.rejects(whole.api.list(pods), given);
    await assert.rejects(whole.api.get({ resource: pods, namespace: 'n', name: 'p' }), given);
    assert.equal(whole.requestCount(), 2);
    const many = '{},'.repeat(3 << 20) + '{}';
    const refusal = answers(`{"kind":"Status","code":403,"message":"read","details":[${many}]}`, 403);
    await assert.rejects(refusal.api.list(pods), ({ message }: Error) => !message.includes('read'));
    // many pages
    const manyItems = answers(page('{},'.repeat(1 << 20) + '{}'));
    await assert.rejects(manyItems.api.list(pods), given);
    assert.ok(manyItems.requestCount() < 5, `${manyItems.requestCount()} pages`);
    // few objects with long texts
    const long = answers(page(`{"a":"${'x'.repeat(16 << 20)}"}`));
    await assert.rejects(long.api.list(pods), given);
    assert.ok(long.requestCount() < 6, `${long.requestCount()} pages`);
  },
);
