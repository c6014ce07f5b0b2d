import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { Clock } from '../deploy/clock.ts';
import { closedPort } from '../kubernetes/testing/closed-port.ts';
import { announceUrl } from './announce-url.ts';
import { said } from './testing/said.ts';

const logs = '/the/logs';
const signal = undefined;

/**
 * Returns a clock that advances only by its sleeps. `then` is called after each sleep with the milliseconds
 * so far.
 */
function hastyClock(then: (passed: number) => Promise<void> = async () => {}): Clock {
  let passed = 0;
  return {
    now: () => new Date(passed),
    sleep: (milliseconds) => then((passed += milliseconds)),
  };
}

async function listen(t: TestContext, port = 0): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return server;
}

test('a URL that refuses connections until the end is a failure, and no last line', async () => {
  const result = said();
  const { terminal } = result.context;
  const url = `http://127.0.0.1:${await closedPort()}/`;

  assert.equal(await announceUrl(url, { terminal, clock: hastyClock(), signal, logs }), 1);

  assert.equal(result.out, '');
  assert.match(result.errors.join(), new RegExp(`${url} takes no connections after 120 s .*/the/logs`));
});

test('after a restart, where no post-start waits, what it serves has longer than half a minute', async (t) => {
  const result = said();
  const { terminal } = result.context;
  const port = await closedPort();
  const url = `http://127.0.0.1:${port}/`;
  let server: Server | undefined;
  const clock = hastyClock(async (passed) => {
    if (passed > 100_000) server ??= await listen(t, port);
  });

  assert.equal(await announceUrl(url, { terminal, clock, signal, logs }), 0);

  assert.deepEqual([result.out, result.errors], [`${url}\n`, []]);
});

test("on another cluster it is a warning without the embedded cluster's logs: a load balancer may not be there yet", async () => {
  const result = said();
  const { terminal } = result.context;
  const url = `http://127.0.0.1:${await closedPort()}/`;

  assert.equal(await announceUrl(url, { terminal, clock: hastyClock(), signal, logs: undefined }), 0);

  assert.equal(result.out, `${url}\n`);
  assert.match(
    result.errors.join(),
    new RegExp(`^Warning: .*${url} takes no connections after 30 s more[^;]*$`),
  );
});

test('a URL that answers is the last line; without one it is a word', async (t) => {
  const url = `http://127.0.0.1:${((await listen(t)).address() as AddressInfo).port}/`;
  for (const [asked, printed] of [
    [url, `${url}\n`],
    [undefined, 'Succeeded\n'],
  ] as const) {
    const result = said();
    const { terminal } = result.context;
    assert.equal(await announceUrl(asked, { terminal, clock: hastyClock(), signal, logs }), 0);
    assert.deepEqual([result.out, result.errors], [printed, []]);
  }
});
