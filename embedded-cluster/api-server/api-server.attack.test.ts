import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import { configMaps, roleBindings, roles, serviceAccounts } from '../../src/kubernetes/resources.ts';
import { decodeProtobuf } from './http/protobuf.ts';
import { startTestServer, type Answer, type Call, type TestServer } from './testing/test-server.ts';

const rbac = 'rbac.authorization.k8s.io';
const collection = '/api/v1/namespaces/bosh/configmaps';

/** Returns a client for a service account of the namespace bosh with that role. */
async function asAccount(
  server: TestServer,
  roleRef: { kind: string; name: string },
): Promise<(path: string, call?: Call) => Promise<Answer>> {
  const metadata = { namespace: 'bosh', name: 'mallory' };
  await server.api.create(serviceAccounts, { metadata });
  const subjects = [{ kind: 'ServiceAccount', namespace: 'bosh', name: 'mallory' }];
  await server.api.create(roleBindings, {
    metadata,
    ...{ roleRef: { apiGroup: rbac, ...roleRef }, subjects },
  });
  const { status } = await server.api.requestToken('bosh', 'mallory', { spec: {} });
  const authorization = `Bearer ${status.token}`;
  return (path, call = {}) =>
    server.call(path, { ...call, anonymous: true, headers: { ...call.headers, authorization } });
}

const editor = { kind: 'ClusterRole', name: 'edit' };

test('server-side apply is refused by name, before the body is read', async (t) => {
  const server = await startTestServer(t);
  const call = await asAccount(server, editor);
  for (const type of ['application/apply-patch+yaml', 'application/apply-patch+cbor']) {
    const headers = { 'content-type': type };
    const body = `data:\n${'  a: a\n'.repeat(900_000)}`;
    const { code, text } = await call(`${collection}/a`, { method: 'PATCH', body, headers });
    assert.equal(code, 415);
    assert.match(text, /does not serve server-side apply: leave out --server-side/u);
  }
});

test('a list of 700,000 items is refused before it is parsed, in the body of every verb', async (t) => {
  const server = await startTestServer(t);
  const call = await asAccount(server, editor);
  await server.api.create(configMaps, { metadata: { namespace: 'bosh', name: 'a' } });
  const list = `[${'0,'.repeat(699_999)}0]`;
  const body = `{"metadata":{"name":"a","finalizers":${list}}}`;
  const patch = (type: string, text: string): [string, Call] => [
    `${collection}/a`,
    { method: 'PATCH', body: text, headers: { 'content-type': type } },
  ];
  const attempts: [string, Call][] = [
    [collection, { method: 'POST', body }],
    [`${collection}/a`, { method: 'PUT', body }],
    [`${collection}/a`, { method: 'DELETE', body: `{"dryRun":${list}}` }],
    patch('application/merge-patch+json', body),
    patch('application/strategic-merge-patch+json', body),
    patch('application/json-patch+json', list),
    ['/api/v1/namespaces/bosh/pods/p/eviction', { method: 'POST', body }],
    ['/api/v1/namespaces/bosh/serviceaccounts/mallory/token', { method: 'POST', body }],
  ];
  for (const [path, attempt] of attempts) {
    const { code } = await call(path, attempt);
    assert.equal(code, 413, `${attempt.method} ${path}`);
  }
});

test('commas and brackets inside strings do not count as values', async (t) => {
  const server = await startTestServer(t);
  const data = { csv: '[{"a\\",'.repeat(100_000) };
  const made = await server.call(collection, {
    method: 'POST',
    body: { metadata: { name: 'csv' }, data },
  });
  assert.equal(made.code, 201);
});

test('a protobuf of 500,000 items is refused', () => {
  const delimited = (number: number, content: Buffer): Buffer => {
    const length = [content.length & 0x7f, (content.length >> 7) & 0x7f, content.length >> 14];
    const [low = 0, middle = 0, high = 0] = length;
    return Buffer.concat([
      Buffer.of(number * 8 + 2, low | 0x80, middle | 0x80, (high & 0x7f) | 0x80, high >> 7),
      content,
    ]);
  };
  const type = Buffer.concat([delimited(1, Buffer.from('v1')), delimited(2, Buffer.from('Secret'))]);
  const finalizers = Buffer.alloc(1_000_000, Buffer.of(14 * 8 + 2, 0));
  const secret = delimited(2, delimited(1, finalizers));
  const body = Buffer.concat([Buffer.from('k8s\0'), delimited(1, type), secret]);
  assert.throws(
    () => decodeProtobuf(body),
    (error) => isApiError(error, 413),
  );
});

test('10,000 moves of a whole object, or tests of it, are refused', async (t) => {
  const server = await startTestServer(t);
  const call = await asAccount(server, editor);
  const data = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, 'a']));
  await server.api.create(configMaps, { metadata: { namespace: 'bosh', name: 'a' }, data } as never);
  const moves = Array.from({ length: 10_000 }, (_, n) => {
    const [from, path] = n % 2 === 0 ? ['/data', '/moved'] : ['/moved', '/data'];
    return { op: 'move', from, path };
  });
  const tests = Array.from({ length: 9000 }, () => ({ op: 'test', path: '/data', value: {} }));
  for (const body of [moves, [{ op: 'test', path: '/data', value: data }, ...tests]]) {
    const headers = { 'content-type': 'application/json-patch+json' };
    const { code, text } = await call(`${collection}/a`, { method: 'PATCH', body, headers });
    assert.equal(code, 422);
    if (body === moves) assert.match(text, /exceeds the limit/u);
  }
});

test('a role whose four short lists are a hundred million rights is refused', async (t) => {
  const server = await startTestServer(t);
  const call = await asAccount(server, { kind: 'ClusterRole', name: 'admin' });
  const hundred = (word: string): string[] => Array.from({ length: 100 }, (_, n) => `${word}${n}`);
  const rule = {
    ...{ verbs: hundred('v'), apiGroups: hundred('g') },
    ...{ resources: hundred('r'), resourceNames: hundred('n') },
  };
  const body = { metadata: { name: 'wide' }, rules: [rule] };
  const path = `/apis/${rbac}/v1/namespaces/bosh/roles`;
  assert.equal((await call(path, { method: 'POST', body })).code, 413);
});

test('a field selector on a name does not apply resourceNames to other verbs', async (t) => {
  const server = await startTestServer(t);
  const rule = {
    ...{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['mine'] },
    verbs: ['create', 'list', 'watch', 'delete', 'deletecollection', 'update', 'patch'],
  };
  await server.api.create(roles, { metadata: { namespace: 'bosh', name: 'mine' }, rules: [rule] } as never);
  await server.api.create(configMaps, { metadata: { namespace: 'bosh', name: 'theirs' } });
  const call = await asAccount(server, { kind: 'Role', name: 'mine' });
  const query = 'fieldSelector=metadata.name%3Dmine';
  const body = { metadata: { name: 'chosen-by-mallory' } };
  assert.equal((await call(`${collection}?${query}`, { method: 'POST', body })).code, 403);
  assert.equal((await call(`${collection}?${query}`, { method: 'DELETE' })).code, 403);
  assert.equal((await call(`${collection}/theirs?${query}`, { method: 'DELETE' })).code, 403);
  assert.equal((await call(`${collection}?${query}`)).code, 200);
});

test('a selector of more than 200 terms, each compared with each object, is refused to a viewer', async (t) => {
  const server = await startTestServer(t);
  const call = await asAccount(server, { kind: 'ClusterRole', name: 'view' });
  const ask = async (count: number): Promise<number[]> => {
    const join = (term: (n: number) => string): string =>
      Array.from({ length: count }, (_, n) => term(n)).join(',');
    const codes: number[] = [];
    for (const query of [
      `labelSelector=${join((n) => `l${n}!=v`)}`,
      `labelSelector=${join(() => '!x')}`,
      `labelSelector=${encodeURIComponent(`a notin (${join((n) => `v${n}`)})`)}`,
      `fieldSelector=${join(() => 'metadata.name!=v')}`,
    ]) {
      const { code, text } = await call(`${collection}?${query}`);
      assert.ok(text.length < 1000);
      codes.push(code);
    }
    return codes;
  };
  assert.deepEqual(await ask(200), [200, 200, 200, 200]);
  assert.deepEqual(await ask(201), [400, 400, 400, 400]);
  assert.deepEqual(await ask(60_000), [400, 400, 400, 400]);
});

const portOf = ({ url }: TestServer): number => Number(new URL(url).port);

/**
 * Opens a connection without a client certificate. With `allowHalfOpen` it stays open when the server closes
 * its side.
 */
async function stranger(t: TestContext, server: TestServer, allowHalfOpen = false): Promise<Socket> {
  const address = { port: portOf(server), host: '127.0.0.1', allowHalfOpen };
  const socket = connectTls({ ...address, ca: server.credentials.authority });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

/**
 * Waits for the close of the connection. A write to a connection that the server has ended fails, which is
 * ignored.
 */
const closed = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) => socket.on('error', () => socket.destroy()).once('close', resolve));

/** Returns everything that the server sends until it closes the connection. */
async function closing(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await closed(socket);
  return Buffer.concat(chunks).toString();
}

test('objects of megabytes, written again and again, are not kept for watches that do not read', async (t) => {
  const server = await startTestServer(t);
  const call = await asAccount(server, editor);
  await server.api.create(configMaps, { metadata: { namespace: 'bosh', name: 'a' } });
  const path = `${collection}?watch=true&resourceVersion=${server.api.registry.store.revision}`;
  const response = await server.open(path);
  // A response that is not consumed is not read from the socket.
  const ended = new Promise((resolve) => response.on('error', resolve).once('close', resolve));
  const put = (n: number): Promise<Answer> => {
    const data = { big: String(n).padEnd(1_000_000, 'x') };
    return call(`${collection}/a`, { method: 'PUT', body: { metadata: { name: 'a' }, data } });
  };
  for (let n = 1; n <= 90; n += 1) assert.equal((await put(n)).code, 200);
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk.replaceAll('x', '');
    if (text.includes('"big":"90"')) response.destroy();
  });
  await ended;
  assert.doesNotMatch(text, /"big":"90"/, 'all 90 MB were kept for it');
  // A later watch does not get the events either.
  const { text: late } = await server.call(`${path}&timeoutSeconds=1`);
  assert.match(late, /^\{"type":"ERROR",.*"code":410/u);
});

test('an endless body without credentials ends the connection', async (t) => {
  const server = await startTestServer(t);
  const socket = await stranger(t, server);
  const ended = closed(socket.resume());
  socket.write(
    `POST ${collection} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
      'transfer-encoding: chunked\r\n\r\n',
  );
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
  const pump = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', pump);
  pump();
  await ended;
});

test('a refused upgrade closes the connection, whatever the client does', async (t) => {
  const server = await startTestServer(t);
  const socket = await stranger(t, server, true);
  const ended = closed(socket.resume());
  socket.write(
    'GET /api/v1/namespaces/bosh/pods/p/exec HTTP/1.1\r\nhost: localhost\r\n' +
      'connection: upgrade\r\nupgrade: websocket\r\n\r\n',
  );
  const drip = setInterval(() => socket.write('a'), 50);
  t.after(() => clearInterval(drip));
  await ended;
});

test('a timeout of a million digits without credentials is answered', async (t) => {
  const server = await startTestServer(t);
  for (const timeout of ['1'.repeat(1_000_000), `${'1'.repeat(500_000)}.${'1'.repeat(400_000)}`]) {
    const { code, text } = await server.call(`/version?timeout=${timeout}`, { anonymous: true });
    assert.equal(code, 400);
    assert.ok(text.length < 1000);
  }
});

test('endless headers without credentials end the connection', async (t) => {
  const server = await startTestServer(t);
  const [silent, slow] = [await stranger(t, server), await stranger(t, server)];
  slow.write('GET /version HTTP/1.1\r\nhost: localhost\r\nx-slow: ');
  const drip = setInterval(() => slow.write('a'), 200);
  t.after(() => clearInterval(drip));
  for (const response of await Promise.all([closing(silent), closing(slow)]))
    assert.match(response, /^HTTP\/1.1 408 /u);
});

test('too many headers are refused, and none is dropped silently', async (t) => {
  const server = await startTestServer(t);
  const headers = Object.fromEntries(Array.from({ length: 2500 }, (_, n) => [`x-${n}`, 'a']));
  for (const path of ['/version', collection]) {
    assert.equal((await server.call(path, { headers, anonymous: true })).code, 431);
    assert.equal((await server.call(path, { headers: { ...headers, 'impersonate-user': 'a' } })).code, 431);
  }
});

test('connections beyond a thousand are closed at once, and the cluster keeps working', async (t) => {
  const server = await startTestServer(t);
  const sockets = Array.from({ length: 1100 }, () => connect(portOf(server), '127.0.0.1'));
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  const ended = sockets.map((socket) => closed(socket.resume()));
  await Promise.race(ended);
  await server.api.create(configMaps, { metadata: { namespace: 'bosh', name: 'written-meanwhile' } });
  for (const socket of sockets) socket.destroy();
  await Promise.all(ended);
});
