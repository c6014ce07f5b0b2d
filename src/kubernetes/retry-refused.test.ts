import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { isProductError } from '../errors/product-error.ts';
import { openTransport } from './open-transport.ts';
import { configMaps } from './resources.ts';
import { RestApi } from './rest-api.ts';
import { createConnectRetry, type RefusedRetryOptions } from './retry-refused.ts';
import { startTlsServer } from './testing/tls-server.ts';

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
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"metadata":{"name":"x"}}');
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
