import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { configMaps } from '../../../src/kubernetes/resources.ts';
import { startTestServer } from '../testing/test-server.ts';
import type { TestServer } from '../testing/test-server.ts';

const path = '/api/v1/namespaces/bosh/configmaps?watch=true';

interface Line {
  type: string;
  object: {
    metadata: { name?: string; resourceVersion: string };
    rows?: unknown[];
  };
}

async function* lines(response: IncomingMessage): AsyncGenerator<Line> {
  let rest = '';
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    const parts = `${rest}${chunk}`.split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) yield JSON.parse(part) as Line;
  }
}

async function watch(
  t: TestContext,
  server: TestServer,
  query: string,
  headers = {},
): Promise<AsyncGenerator<Line>> {
  const response = await server.open(`${path}${query}`, { headers });
  t.after(() => response.destroy());
  assert.equal(response.statusCode, 200);
  return lines(response);
}

const create = (server: TestServer, name: string): Promise<unknown> =>
  server.api.create(configMaps, { metadata: { namespace: 'bosh', name } });

const limit = { timeout: 20_000 };

test('timeoutSeconds ends the watch, after a last bookmark if bookmarks are allowed', limit, async (t) => {
  const server = await startTestServer(t);
  await create(server, 'a');
  const seen: Line[] = [];
  for await (const line of await watch(t, server, '&allowWatchBookmarks=true&timeoutSeconds=1'))
    seen.push(line);
  assert.deepEqual(
    seen.map(({ type }) => type),
    ['ADDED', 'BOOKMARK'],
  );
  assert.equal(seen[1]?.object.metadata.resourceVersion, String(server.api.registry.store.revision));
});

test('a version that is too old gives one ERROR line and ends the watch', limit, async (t) => {
  const server = await startTestServer(t, 2);
  for (let n = 0; n < 10; n += 1) await create(server, `c${n}`);
  const seen: unknown[] = [];
  for await (const line of await watch(t, server, '&resourceVersion=2')) seen.push(line);
  assert.equal(seen.length, 1);
  const { type, object } = seen[0] as { type: string; object: { code: number; reason: string } };
  assert.deepEqual([type, object.code, object.reason], ['ERROR', 410, 'Expired']);
});

test('a watch as Table sends rows', limit, async (t) => {
  const server = await startTestServer(t);
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
  const events = await watch(t, server, '', { accept });
  await create(server, 'a');
  const line = (await events.next()).value as Line;
  assert.equal(line.type, 'ADDED');
  assert.equal(line.object.rows?.length, 1);
});

test('bad selectors are 400 before the stream begins', limit, async (t) => {
  const server = await startTestServer(t);
  assert.equal((await server.call(`${path}&fieldSelector=spec.x%3D1`)).code, 400);
});
