import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isApiError } from './api-error.ts';
import { requestSender } from './send-request.ts';
import type { Transport, TransportRequest, TransportResponse } from './transport.ts';

const answer = (status: number): TransportResponse => ({ status, headers: {}, body: '{"message":"no"}' });
const get: TransportRequest = { method: 'GET', path: '/api/v1/nodes' };
const forbidden = (error: unknown): boolean => isApiError(error, 403);

/** Creates a server whose responses depend on the time, which sleepers move, and a sender to it. */
function serve(respond: (path: string, now: number) => TransportResponse) {
  const asked: string[] = [];
  let now = 0;
  const transport: Transport = {
    request: async ({ path }) => {
      asked.push(path === '/readyz' ? 'look' : path);
      return Promise.resolve(respond(path, now));
    },
    stream: () => Promise.reject(new Error('nothing is watched here')),
    close: () => undefined,
  };
  const pass = (milliseconds: number): void => {
    now += milliseconds;
  };
  const clock = { now: () => now, sleep: (ms: number) => Promise.resolve(pass(ms)) };
  return { send: requestSender(transport, clock, () => 0), asked, pass, now: () => now };
}

/** Responds with 403 before that time, and to /readyz with `notReady`. */
const startingUntil =
  (readyAt: number, notReady = 500) =>
  (path: string, now: number): TransportResponse => {
    if (now >= readyAt) return answer(200);
    return answer(path === '/readyz' ? notReady : 403);
  };

test('a 403 of a server that is not ready yet is sent again, a write too', async () => {
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE'] as const) {
    const { send, asked } = serve(startingUntil(1000));
    await send({ ...get, method });
    assert.deepEqual(asked, [get.path, 'look', get.path, 'look', get.path]);
  }
});

test('a server that becomes ready between its 403 and the look at it is asked once more', async () => {
  let looks = 0;
  const { send } = serve((path) => {
    if (path === '/readyz') looks += 1;
    return answer(looks > 0 ? 200 : 403);
  });
  assert.equal((await send(get)).status, 200);
});

test('a 403 of a server that is ready, or that does not say, counts when it is given again', async () => {
  for (const readyz of [200, 401, 404]) {
    const { send, asked, now } = serve(startingUntil(Infinity, readyz));
    await assert.rejects(send(get), forbidden);
    assert.deepEqual(asked, [get.path, 'look', get.path]);
    assert.equal(now(), 0);
  }
});

test('a 403 counts when it is given again, also while other requests read whether the server is ready', async () => {
  const other = { ...get, path: '/api/v1/pods' };
  let now = 0;
  let sent = 0;
  const transport: Transport = {
    request: async ({ path }) => {
      if (path === get.path) {
        sent += 1;
        assert.ok(sent < 10, 'the request is repeated for ever');
        now += 1001;
        await assert.rejects(send(other), forbidden);
      }
      return answer(path === '/readyz' ? 200 : 403);
    },
    stream: () => Promise.reject(new Error('nothing is watched here')),
    close: () => undefined,
  };
  const send = requestSender(transport, { now: () => now, sleep: () => Promise.resolve() }, () => 0);
  await assert.rejects(send(get), forbidden);
  assert.equal(sent, 2);
});

test('of a server that was ready just now a 403 counts at once, later it is looked at again', async () => {
  const { send, asked, pass } = serve(startingUntil(Infinity, 200));
  await assert.rejects(send(get), forbidden);
  asked.length = 0;
  await assert.rejects(send(get), forbidden);
  assert.deepEqual(asked, [get.path]);
  pass(1000);
  await assert.rejects(send(get), forbidden);
  assert.deepEqual(asked, [get.path, get.path, 'look', get.path]);
});

test('one that forbids to ask whether it is ready is starting too, for ten seconds; then that is how it is', async () => {
  const starting = serve(startingUntil(2000, 403));
  assert.equal((await starting.send(get)).status, 200);
  const hardened = serve(startingUntil(Infinity, 403));
  await assert.rejects(hardened.send(get), forbidden);
  assert.ok(hardened.now() >= 10_000 && hardened.now() < 11_500, String(hardened.now()));
  hardened.asked.length = 0;
  hardened.pass(60_000);
  await assert.rejects(hardened.send(get), forbidden);
  assert.deepEqual(hardened.asked, [get.path]);
});

test('what a server takes until it answers at all is not part of its patience', async () => {
  let slow = true;
  const { send, pass } = serve((path, now) => {
    if (slow) pass(25_000);
    slow = false;
    return startingUntil(27_000, 403)(path, now);
  });
  assert.equal((await send(get)).status, 200);
});

test('a server that never becomes ready: the 403 after half a minute', async () => {
  const { send, now } = serve(startingUntil(Infinity));
  await assert.rejects(send(get), forbidden);
  assert.ok(now() >= 30_000 && now() < 31_500, String(now()));
});
