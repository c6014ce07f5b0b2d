import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test, type TestContext } from 'node:test';
import { retryDelay, createConnectRetry, type RefusedRetryOptions, requestSender } from './retry.ts';
import { once } from 'node:events';
import { isProductError } from '../../errors/product-error.ts';
import { openTransport } from './open-transport.ts';
import { configMaps } from '../resources.ts';
import { RestApi } from './rest-api.ts';
import { startTlsServer } from '../testing/tls-server.ts';
import { isApiError } from './api-error.ts';
import type { Transport, TransportRequest, TransportResponse } from './transport.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

test('what is tried again, and for whom', () => {
  const repeats = (setback: Parameters<typeof retryDelay>[0]['setback']): string[] =>
    methods.filter((method) => retryDelay({ method, tries: 1, setback }, 0) !== undefined);

  assert.deepEqual(repeats({ status: 429, retryAfter: undefined }), [...methods]);
  assert.deepEqual(repeats({ status: 503, retryAfter: '1' }), [...methods]);
  // a response of a proxy, or of etcd through the server: the request may have been done or not
  for (const status of [408, 500, 502, 503, 504, 520, 524])
    assert.deepEqual(repeats({ status, retryAfter: undefined }), ['GET'], String(status));
  assert.deepEqual(repeats({ status: 502, retryAfter: '1' }), ['GET']);
  assert.deepEqual(repeats({ status: 503, retryAfter: '3600' }), []);
  for (const status of [501, 505, 507])
    assert.deepEqual(repeats({ status, retryAfter: undefined }), [], String(status));
  assert.deepEqual(repeats({ status: 429, retryAfter: '3600' }), []);
  assert.deepEqual(repeats({ status: 409, retryAfter: '1' }), []);
  assert.deepEqual(repeats({ status: 404, retryAfter: undefined }), []);
  assert.deepEqual(repeats({ failure: 'refused' }), []);
  assert.deepEqual(repeats({ failure: 'reset' }), ['GET', 'PUT', 'DELETE']);
  assert.deepEqual(repeats({ failure: 'tls' }), []);
  assert.deepEqual(repeats({ failure: 'timeout' }), []);
});

test('tries are bounded and never come before the Retry-After', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...methods),
      fc.integer({ min: 1, max: 20 }),
      fc.nat({ max: 60 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (method, tries, seconds, random) => {
        const delay = retryDelay(
          { method, tries, setback: { status: 429, retryAfter: String(seconds) } },
          random,
        );
        assert.ok(delay === undefined || delay >= seconds * 1000);
        assert.equal(delay === undefined, tries >= 6 || seconds > 30);
      },
    ),
  );
});

/**
 * Starts an API server that listens from `listensAt` on, with a clock that only sleepers move, and a client
 * of it.
 */
async function startLater(t: TestContext, listensAt: number, options: Partial<RefusedRetryOptions> = {}) {
  const requests: string[] = [];
  const notices: number[] = [];
  const pauses: number[] = [];
  const { server, access, close } = await startTlsServer((request, response) => {
    requests.push(request.method ?? '');
    const stored = { metadata: { ...object.metadata, uid: 'u', resourceVersion: '1' } };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(stored));
  });
  const port = Number(new URL(access.server).port);
  server.close();
  await once(server, 'close');
  let now = 1_000_000;
  const began = now;
  const clock = {
    now: () => now,
    sleep: async (milliseconds: number) => {
      pauses.push(milliseconds);
      now += milliseconds;
      if (requests.length > 0 || server.listening || now - began < listensAt) return;
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
  };
  const transport = await openTransport(access);
  const onWaiting = (): void => void notices.push(now - began);
  const retryRefused = createConnectRetry({
    clock,
    random: () => 0,
    maxWaitMs: 90_000,
    onWaiting,
    ...options,
  });
  const api = new RestApi({ transport, clock, random: () => 0, retryRefused });
  t.after(async () => {
    api.close();
    if (server.listening) await close();
  });
  return { api, server, requests, notices, pauses, elapsed: () => now - began };
}

const reference = { resource: configMaps, namespace: 'n', name: 'x' };
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'n', name: 'x' } };
const refusedFor = (seconds: number) => (error: unknown) =>
  isProductError(error, 'KUBERNETES_UNREACHABLE') &&
  error.message.includes('refused (ECONNREFUSED)') &&
  error.message.endsWith(`(tried for ${seconds} s)`);

test('every verb reaches an API server that is away for a minute, once', async (t) => {
  const verbs: readonly (readonly [string, (api: RestApi) => Promise<unknown>])[] = [
    ['GET', (api) => api.get(reference)],
    ['POST', (api) => api.create(configMaps, object)],
    ['PUT', (api) => api.replace(configMaps, object)],
    ['PATCH', (api) => api.patch(reference, 'merge', {})],
    ['DELETE', (api) => api.delete(reference)],
    ['GET', async (api) => api.watch(configMaps, { namespace: 'n' }).next()],
  ];
  for (const [method, verb] of verbs) {
    const { api, requests, notices, pauses, elapsed } = await startLater(t, 60_000);
    await verb(api);
    assert.deepEqual(requests, [method]);
    assert.ok(elapsed() >= 60_000 && elapsed() < 63_000, String(elapsed()));
    assert.equal(notices.length, 1);
    assert.ok((notices[0] ?? 0) >= 5000 && (notices[0] ?? 0) < 8000, String(notices));
    assert.ok(Math.max(...pauses) <= 3000);
  }
});

test('one that stays away is an error after 90 s, and what follows does not wait again', async (t) => {
  const { api, elapsed } = await startLater(t, Infinity);
  await assert.rejects(api.create(configMaps, object), refusedFor(90));
  assert.equal(elapsed(), 90_000);
  await assert.rejects(api.delete(reference), refusedFor(90));
  assert.equal(elapsed(), 90_000);
});

test('a server that took a connection since may be away for as long again', async (t) => {
  const { api, server, elapsed } = await startLater(t, 50_000);
  await api.get(reference);
  assert.ok(elapsed() < 53_000);
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  await assert.rejects(api.get(reference), refusedFor(90));
});

test("nothing is tried after the caller's own deadline, or after the end of the call", async (t) => {
  const deadline = await startLater(t, Infinity, { until: 1_020_000 });
  await assert.rejects(deadline.api.get(reference), refusedFor(20));
  assert.equal(deadline.elapsed(), 20_000);
  const over = await startLater(t, Infinity, { signal: AbortSignal.abort() });
  await assert.rejects(over.api.get(reference), { code: 'KUBERNETES_UNREACHABLE' });
  assert.deepEqual([over.pauses, over.notices], [[], []]);
});

test('a name that does not resolve is an error at once', async () => {
  const access = { server: 'https://nowhere.invalid:6443', token: 'x', namespace: 'n' };
  const clock = { now: () => 0, sleep: () => Promise.reject(new Error('waited')) };
  const retryRefused = createConnectRetry({ clock, random: () => 0, maxWaitMs: 90_000 });
  const api = new RestApi({ transport: await openTransport(access), retryRefused });
  await assert.rejects(api.get(reference), /its name cannot be resolved/u);
});

const answer = (status: number): TransportResponse => ({ status, headers: {}, body: '{"message":"no"}' });
const get: TransportRequest = { method: 'GET', path: '/api/v1/nodes' };
const forbidden = (error: unknown): boolean => isApiError(error, 403);

/** Creates a server whose responses depend on the time, which sleepers move, and a sender to it. */
function serve(respond: (path: string, now: number) => TransportResponse) {
  const requests: string[] = [];
  let now = 0;
  const transport: Transport = {
    request: async ({ path }) => {
      requests.push(path === '/readyz' ? 'look' : path);
      return Promise.resolve(respond(path, now));
    },
    stream: () => Promise.reject(new Error('nothing is watched here')),
    close: () => undefined,
  };
  const pass = (milliseconds: number): void => {
    now += milliseconds;
  };
  const clock = { now: () => now, sleep: (ms: number) => Promise.resolve(pass(ms)) };
  return { send: requestSender(transport, clock, () => 0), requests, pass, now: () => now };
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
    const { send, requests: asked } = serve(startingUntil(1000));
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
    const { send, requests: asked, now } = serve(startingUntil(Infinity, readyz));
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
        assert.ok(sent < 10, 'the request is repeated forever');
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
  const { send, requests: asked, pass } = serve(startingUntil(Infinity, 200));
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
  hardened.requests.length = 0;
  hardened.pass(60_000);
  await assert.rejects(hardened.send(get), forbidden);
  assert.deepEqual(hardened.requests, [get.path]);
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
