import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readJsonLines } from './json-lines.ts';
import { pods } from './resources.ts';
import { RestApi } from './rest-api.ts';
import { NodeHttpsTransport } from './node-https-transport.ts';
import { readTextFile } from './read-text-file.ts';
import type { Transport } from './transport.ts';
import { execInPod } from './pod-exec.ts';
import { startExecServer } from './testing/exec-server.ts';
import { startHostileServers } from './testing/hostile-server.ts';
import { endlessAnswer, transportConformance } from './testing/transport-conformance.ts';

const timeout = 120_000;

// the transport of Bun meets the same in bun-socket-transport.test.ts
test(
  'an API server whose answer does not end is left, and does not fill the memory',
  { timeout },
  async (t) => {
    const servers = await startHostileServers();
    t.after(() => servers.close());
    const attack = transportConformance.find(({ name }) => name === endlessAnswer);
    assert.ok(attack);
    await attack.run((access, options) => new NodeHttpsTransport(access, options), servers);
  },
);

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
    let asked = 0;
    const transport: Transport = {
      request: async () => {
        asked += 1;
        return { status: 200, headers: {}, body: page };
      },
      stream: async () => assert.fail('no stream is asked for'),
      close: () => {},
    };
    await assert.rejects(new RestApi({ transport }).list(pods), {
      code: 'KUBERNETES_API',
      message: /does not end/,
    });
    assert.equal(asked, 1001);
    assert.throws(() => readTextFile('/dev/zero'), { code: 'EFBIG' });
  },
);
