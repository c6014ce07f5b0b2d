import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { isApiError } from './api-error.ts';
import type { KubernetesObject } from '../object.ts';
import { openApi, RestApi } from './rest-api.ts';
import { openTransport } from './open-transport.ts';
import { namespaces, pods, secrets, selfSubjectAccessReviews } from '../resources.ts';
import { startTlsServer } from '../testing/tls-server.ts';
import { waitFor } from './wait.ts';

interface Seen {
  readonly method: string | undefined;
  readonly url: URL;
  readonly body: unknown;
  readonly contentType: string | undefined;
}

type Answer = (seen: Seen, response: ServerResponse) => void;

async function serve(
  t: TestContext,
  answers: Answer | Answer[],
): Promise<{ api: RestApi; seen: Seen[]; delays: number[] }> {
  const seen: Seen[] = [];
  const delays: number[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const one: Seen = {
      method: request.method,
      url: new URL(request.url ?? '/', 'https://any'),
      body: body === '' ? undefined : JSON.parse(body),
      contentType: request.headers['content-type'],
    };
    const answer = Array.isArray(answers) ? (answers[seen.length] ?? answers.at(-1)) : answers;
    seen.push(one);
    answer?.(one, response);
  };
  const server = await startTlsServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  const api = new RestApi({
    transport: await openTransport(server.access),
    random: () => 0,
    clock: {
      now: () => Date.now(),
      sleep: async (milliseconds) => {
        delays.push(milliseconds);
        await Promise.resolve();
      },
    },
  });
  t.after(async () => {
    api.close();
    await server.close();
  });
  return { api, seen, delays };
}

const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (_seen, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
const failure = (code: number, reason: string, message = reason): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  code,
  reason,
  message,
});
/** Returns an object as a server stores it. */
const stored = (name: string) => ({
  metadata: { name, namespace: 'bosh', uid: 'u', resourceVersion: '1' },
});
const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) {
    all.push(item);
  }
  return all;
};
const reference = { resource: pods, namespace: 'bosh', name: 'vm-1' };

test('each verb has its method, path, query and body', async (t) => {
  const { api, seen } = await serve(t, json(stored('x')));
  const secret = { metadata: { name: 'x', namespace: 'bosh' } };

  await api.get(reference);
  await api.create(secrets, secret);
  await api.replace(pods, { metadata: { name: 'vm-1', namespace: 'bosh', resourceVersion: '7' } }, 'status');
  await api.patch(reference, { metadata: { labels: { a: 'b' } } });
  await api.patch(reference, [], { type: 'application/json-patch+json' });
  await api.delete(reference, { gracePeriodSeconds: 5, preconditions: { uid: 'u' } });
  await api.create(namespaces, { metadata: { name: 'x' } });

  assert.deepEqual(
    seen.map(({ method, url }) => `${method} ${url.pathname}`),
    [
      'GET /api/v1/namespaces/bosh/pods/vm-1',
      'POST /api/v1/namespaces/bosh/secrets',
      'PUT /api/v1/namespaces/bosh/pods/vm-1/status',
      'PATCH /api/v1/namespaces/bosh/pods/vm-1',
      'PATCH /api/v1/namespaces/bosh/pods/vm-1',
      'DELETE /api/v1/namespaces/bosh/pods/vm-1',
      'POST /api/v1/namespaces',
    ],
  );
  assert.equal(seen[1]?.url.search, '?fieldManager=bosh-kubernetes&fieldValidation=Strict');
  assert.deepEqual(seen[1]?.body, secret);
  assert.deepEqual(
    seen.slice(3, 5).map(({ contentType }) => contentType),
    ['application/merge-patch+json', 'application/json-patch+json'],
  );
  assert.deepEqual(seen[5]?.body, {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    gracePeriodSeconds: 5,
    preconditions: { uid: 'u' },
  });
});

test('a name that would address another object is refused before anything is sent', async (t) => {
  const { api, seen } = await serve(t, json({}));

  await assert.rejects(api.delete({ ...reference, name: '../secrets' }), /not a path segment/u);
  await assert.rejects(api.delete({ ...reference, name: '' }), /not a path segment/u);
  assert.equal(seen.length, 0);
});

test('a Status becomes an ApiError', async (t) => {
  const { api } = await serve(t, json(failure(404, 'NotFound', 'pods "vm-1" not found'), 404));

  await assert.rejects(api.get(reference), (error) => {
    assert.ok(isApiError(error, 404, 'NotFound'));
    assert.equal(error.message, 'pods "vm-1" not found');
    return true;
  });
});

test('an answer of something else than an API server is an ApiError too', async (t) => {
  const { api } = await serve(t, (_seen, response) => response.writeHead(502).end('<html>Bad gateway'));

  await assert.rejects(
    api.get(reference),
    (error) => isApiError(error, 502) && /Bad gateway/u.test(error.message),
  );
});

for (const missing of ['name', 'uid', 'resourceVersion', 'namespace'])
  test(`an object without ${missing} is no answer of an API server`, async (t) => {
    const { metadata } = stored('x');
    const object = { metadata: { ...metadata, [missing]: missing === 'uid' ? '' : undefined } };
    const { api } = await serve(t, ({ method, url }, response) => {
      const isList = method === 'GET' && url.pathname.endsWith('/pods');
      const event = url.searchParams.has('watch') && `${JSON.stringify({ type: 'ADDED', object })}\n`;
      const body = isList ? { metadata: { resourceVersion: '1' }, items: [stored('y'), object] } : object;
      response.end(event === false ? JSON.stringify(body) : event);
    });
    const sent = { metadata: { name: 'x', namespace: 'bosh' } };
    const requests = [
      () => api.get(reference),
      () => api.list(pods),
      () => api.create(pods, sent),
      () => api.replace(pods, sent),
      () => api.patch(reference, {}),
      () => collect(api.watch(pods)),
    ];
    for (const request of requests)
      await assert.rejects(request, {
        code: 'KUBERNETES_API',
        message: new RegExp(`an object of pods without metadata\\.${missing};`, 'u'),
      });
    // what is not stored has no version and no uid
    await api.dryRunCreate(pods, sent);
    await api.review(selfSubjectAccessReviews, { metadata: {} });
  });

test('a 502 of a proxy is tried again for a GET and not for a write', async (t) => {
  const badGateway = (_seen: unknown, response: ServerResponse): unknown => response.writeHead(502).end();
  const { api, seen } = await serve(t, [badGateway, json(stored('vm-1')), badGateway]);

  await api.get(reference);
  await assert.rejects(api.create(secrets, { metadata: { name: 'x', namespace: 'bosh' } }), (error) =>
    isApiError(error, 502),
  );
  assert.equal(seen.length, 3);
});

test('429 is tried again after its Retry-After, for every verb', async (t) => {
  const busy = json(failure(429, 'TooManyRequests'), 429, { 'retry-after': '2' });
  const { api, seen, delays } = await serve(t, [busy, busy, json(stored('x'), 201)]);

  await api.create(secrets, { metadata: { name: 'x', namespace: 'bosh' } });

  assert.equal(seen.length, 3);
  assert.deepEqual(delays, [2000, 2000]);
});

test('a broken connection is tried again for a GET and not for a POST', async (t) => {
  const { api, seen } = await serve(t, [
    (_seen, response) => response.socket?.destroy(),
    json(stored('vm-1')),
    (_seen, response) => response.socket?.destroy(),
  ]);

  await api.get(reference);
  await assert.rejects(api.create(secrets, { metadata: { name: 'x', namespace: 'bosh' } }), (error) =>
    isProductError(error, 'KUBERNETES_UNREACHABLE'),
  );
  assert.equal(seen.length, 3);
});

test('a server that stays busy is given up', async (t) => {
  const { api, seen } = await serve(t, json(failure(503, 'ServiceUnavailable'), 503, { 'retry-after': '1' }));

  await assert.rejects(api.get(reference), (error) => isApiError(error, 503));
  assert.equal(seen.length, 6);
});

test("the server's time is that of its latest answer, a refusal too; none before", async (t) => {
  const at = (date: string, status: number) => json(stored('vm-1'), status, { date });
  const { api } = await serve(t, [
    at('Tue, 24 Nov 2026 10:00:00 GMT', 200),
    at('Tue, 24 Nov 2026 10:00:05 GMT', 404),
    at('at noon', 200),
  ]);

  assert.equal(api.serverTime(), undefined);
  await api.get(reference);
  assert.equal(api.serverTime(), Date.parse('2026-11-24T10:00:00Z'));
  await assert.rejects(api.get(reference));
  assert.equal(api.serverTime(), Date.parse('2026-11-24T10:00:05Z'));
  await api.get(reference);
  assert.equal(api.serverTime(), undefined);
});

test('a list follows its pages', async (t) => {
  const { api, seen } = await serve(t, [
    json({ metadata: { resourceVersion: '5', continue: 'more' }, items: [stored('a')] }),
    json({ metadata: { resourceVersion: '5' }, items: [stored('b')] }),
  ]);

  const list = await api.list(pods, { namespace: 'bosh', labelSelector: 'a=b' });

  assert.deepEqual(
    list.items.map(({ metadata }) => metadata.name),
    ['a', 'b'],
  );
  assert.equal(seen[1]?.url.searchParams.get('continue'), 'more');
  assert.equal(seen[1]?.url.searchParams.get('labelSelector'), 'a=b');
});

test('a list whose pages expired is read whole', async (t) => {
  const { api, seen } = await serve(t, [
    json({ metadata: { resourceVersion: '5', continue: 'more' }, items: [stored('a')] }),
    json(failure(410, 'Expired'), 410),
    json({ metadata: { resourceVersion: '9' }, items: [stored('z')] }),
  ]);

  const list = await api.list(pods);

  assert.equal(list.items[0]?.metadata.name, 'z');
  assert.equal(seen[2]?.url.searchParams.has('limit'), false);
});

test('a watch yields its events, whatever chunks they came in, and ends with the server', async (t) => {
  const { api, seen } = await serve(t, (_seen, response) => {
    const lines =
      '{"type":"ADDED","object":{"metadata":{"name":"ä","namespace":"bosh","uid":"u","resourceVersion":"1"}}}\n{"type":"BOOKMARK","object":{"metadata":{}}}\n';
    const bytes = Buffer.from(lines);
    response.write(bytes.subarray(0, 47), () => response.end(bytes.subarray(47)));
  });

  const events = await collect(api.watch<KubernetesObject>(pods, { resourceVersion: '3' }));

  assert.deepEqual(
    events.map(({ type }) => type),
    ['ADDED', 'BOOKMARK'],
  );
  assert.partialDeepStrictEqual(events[0]?.object.metadata, { name: 'ä' });
  assert.equal(seen[0]?.url.search, '?watch=true&allowWatchBookmarks=true&resourceVersion=3');
});

test('a watch ends with its signal, and rejects with the Status of a refusal', async (t) => {
  const { api } = await serve(t, [
    (_seen, response) => response.write(`${JSON.stringify({ type: 'ADDED', object: stored('a') })}\n`),
    json(failure(403, 'Forbidden'), 403),
  ]);
  const controller = new AbortController();

  for await (const event of api.watch(pods, { signal: controller.signal })) {
    assert.equal(event.type, 'ADDED');
    controller.abort();
  }
  await assert.rejects(collect(api.watch(pods)), (error) => isApiError(error, 403));
});

test('a wait survives a watch that closes and one that is too old', async (t) => {
  const list = (phase: string): Answer =>
    json({ metadata: { resourceVersion: '1' }, items: [{ ...stored('vm-1'), status: { phase } }] });
  const { api, seen } = await serve(t, [
    list('Pending'),
    (_seen, response) => response.end(),
    list('Pending'),
    json(failure(410, 'Expired'), 410),
    list('Pending'),
    (_seen, response) =>
      response.write(
        `${JSON.stringify({ type: 'MODIFIED', object: { ...stored('vm-1'), status: { phase: 'Running' } } })}\n`,
      ),
  ]);

  const phase = await waitFor({
    api,
    reference,
    awaited: 'pod vm-1 to run',
    deadlineMs: 20_000,
    condition: (pod: (KubernetesObject & { status?: { phase: string } }) | undefined) =>
      pod?.status?.phase === 'Running' ? pod.status.phase : undefined,
  });

  assert.equal(phase, 'Running');
  assert.equal(seen.length, 6);
  assert.equal(seen[0]?.url.searchParams.get('fieldSelector'), 'metadata.name=vm-1');
});

test('an unreachable server is named with host and port', async () => {
  const api = await openApi({ server: 'https://127.0.0.1:1', token: 'x', namespace: 'default' });

  await assert.rejects(
    api.get(reference),
    (error) =>
      isProductError(error, 'KUBERNETES_UNREACHABLE') && /127\.0\.0\.1:1 .*refused/u.test(error.message),
  );
});
