import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { test, type TestContext } from 'node:test';
import { closedPort } from '../../kubernetes/testing/closed-port.ts';
import { systemClock, type Clock } from '../../platform/clock.ts';
import { recordOutput } from '../testing/record-output.ts';
import { announceUrl, awaitConnection, checkUrlTag } from './announce-url.ts';

const logsCommand = 'bosh-kubernetes logs m.yml';
const embedded = { isEmbedded: true, logsCommand };
const signal = undefined;

/**
 * Returns a clock that advances only by its sleeps. `then` is called after each sleep with the milliseconds
 * so far.
 */
function hastyClock(then: (passed: number) => Promise<void> = async () => {}): Clock {
  let passed = 0;
  return {
    now: () => passed,
    sleep: (milliseconds) => then((passed += milliseconds)),
  };
}

async function listen(t: TestContext, port = 0): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return server;
}

test('a URL that refuses connections until the timeout makes the command fail, and is not printed as the last line', async () => {
  const result = recordOutput();
  const { terminal } = result.context;
  const url = `http://127.0.0.1:${await closedPort()}/`;

  assert.equal(await announceUrl(url, { terminal, clock: hastyClock(), signal, ...embedded }), 1);

  assert.equal(result.out, '');
  assert.match(
    result.errors.join(),
    new RegExp(
      `${url} still refuses connections after another 120 s.*tags\\.url of the manifest.*/var/vcap/sys/log.*: ${logsCommand}$`,
    ),
  );
});

test('after a restart without a wait for post-start, the URL has more than half a minute to answer', async (t) => {
  const result = recordOutput();
  const { terminal } = result.context;
  const port = await closedPort();
  const url = `http://127.0.0.1:${port}/`;
  let server: Server | undefined;
  const clock = hastyClock(async (passed) => {
    if (passed > 100_000) server ??= await listen(t, port);
  });

  assert.equal(await announceUrl(url, { terminal, clock, signal, ...embedded }), 0);

  assert.deepEqual([result.out, result.errors], [`${url}\n`, []]);
});

test('a failed URL on another cluster is only a warning, because a load balancer may not be ready', async () => {
  const result = recordOutput();
  const { terminal } = result.context;
  const url = `http://127.0.0.1:${await closedPort()}/`;

  assert.equal(
    await announceUrl(url, { terminal, clock: hastyClock(), signal, ...embedded, isEmbedded: false }),
    0,
  );

  assert.equal(result.out, `${url}\n`);
  assert.match(
    result.errors.join(),
    new RegExp(`^Warning: .*${url} still refuses connections after another 30 s.*: ${logsCommand}$`),
  );
});

test('the last line is the URL that answers, or "Succeeded" without a URL', async (t) => {
  const url = `http://127.0.0.1:${((await listen(t)).address() as AddressInfo).port}/`;
  for (const [requested, printed] of [
    [url, `${url}\n`],
    [undefined, 'Succeeded\n'],
  ] as const) {
    const result = recordOutput();
    const { terminal } = result.context;
    assert.equal(await announceUrl(requested, { terminal, clock: hastyClock(), signal, ...embedded }), 0);
    assert.deepEqual([result.out, result.errors], [printed, []]);
  }
});

const manifest = (url?: string) => ({
  tags: url === undefined ? {} : { url },
  tagPositions: { url: '/m.yml:7:8: tags.url' },
});

test("an invalid URL in the tag 'url' is an error in the manifest, with its position", () => {
  for (const url of ['5', '', 'no url', 'localhost:8080', '127.0.0.1:8080', 'http://'])
    assert.throws(
      () => checkUrlTag(manifest(url)),
      { code: 'MANIFEST_INVALID', message: /^\/m\.yml:7:8: tags\.url: / },
      url,
    );
});

test("the tag 'url' may hold any valid URL or be missing", () => {
  for (const url of [
    undefined,
    'http://127.64.0.10:8080/',
    'https://[fd00::1]',
    'ssh://host',
    'nats://10.0.0.6:4222',
  ])
    assert.doesNotThrow(() => checkUrlTag(manifest(url)), url);
});

test('waits for a port that opens during the wait', async (t) => {
  const port = await closedPort();
  let tries = 0;
  const clock = {
    ...systemClock,
    now: () => systemClock.now(),
    async sleep(milliseconds: number) {
      if ((tries += 1) === 3) await listen(t, port);
      await systemClock.sleep(milliseconds);
    },
  };
  assert.equal(
    await awaitConnection(`http://127.0.0.1:${port}/`, { clock, signal, timeoutMs: 60_000 }),
    true,
  );
  assert.equal(tries, 3);
});

test('reports a port that refuses connections until the timeout', async () => {
  const url = `http://127.0.0.1:${await closedPort()}/`;
  assert.equal(await awaitConnection(url, { clock: systemClock, signal, timeoutMs: 50 }), false);
});

test('does not wait for a URL that this machine cannot reach', async () => {
  for (const url of ['no url', 'ssh://127.0.0.1/']) {
    assert.equal(await awaitConnection(url, { clock: systemClock, signal, timeoutMs: 60_000 }), true, url);
  }
});
