import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../deploy/clock.ts';
import { closedPort } from '../kubernetes/testing/closed-port.ts';
import { awaitConnection } from './await-connection.ts';

const signal = undefined;

async function listen(t: TestContext, port: number): Promise<void> {
  const server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
}

test('what begins to listen during the wait is waited for', async (t) => {
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

test('what refuses until the end is said to', async () => {
  const url = `http://127.0.0.1:${await closedPort()}/`;
  assert.equal(await awaitConnection(url, { clock: systemClock, signal, timeoutMs: 50 }), false);
});

test('what cannot be tried from here is not waited for', async () => {
  for (const url of ['no url', 'ssh://127.0.0.1/']) {
    assert.equal(await awaitConnection(url, { clock: systemClock, signal, timeoutMs: 60_000 }), true, url);
  }
});
