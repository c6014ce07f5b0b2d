import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { type ConnectionTest, systemProbes } from './probes.ts';

const host = '127.0.0.1';
const waits = { kind: 'connection', timeoutSeconds: 1 } as const;

async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return port;
}

test('connects to a port and to a unix socket, with and without a request', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'probes-'));
  t.after(() => rm(directory, { recursive: true }));
  const http = createServer((request, response) => {
    response.statusCode = request.url === '/health' ? 204 : 503;
    response.end();
  });
  const target = { host, port: await listen(t, http) };
  const path = join(directory, 'socket');
  const local = createServer((_, response) => void response.end()).listen(path);
  await once(local, 'listening');
  t.after(() => local.close());
  const silent = createTcpServer((socket) => void socket.on('error', () => undefined));
  const dumb = { host, port: await listen(t, silent) };
  const connect = (tried: ConnectionTest): Promise<string | undefined> => systemProbes.connect(tried);

  assert.equal(await connect({ ...waits, target, request: undefined }), undefined);
  assert.equal(await connect({ ...waits, target, request: '/health' }), undefined);
  assert.equal(await connect({ ...waits, target, request: '/' }), 'the response has status 503');
  assert.equal(await connect({ ...waits, target: { path }, request: undefined }), undefined);
  assert.equal(await connect({ ...waits, target: { path }, request: '/' }), undefined);
  assert.match(
    (await connect({ ...waits, target: { path: `${path}.gone` }, request: undefined })) ?? '',
    /ENOENT/,
  );
  assert.equal(await connect({ ...waits, target: dumb, request: '/' }), 'no response within 1 seconds');
  const closed = createTcpServer();
  const port = await listen(t, closed);
  await new Promise((resolve) => closed.close(resolve));
  assert.match(
    (await connect({ ...waits, target: { host, port }, request: undefined })) ?? '',
    /ECONNREFUSED/,
  );
});

test('finds plain files only, and follows no link for a checksum', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'probes-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'file');
  assert.equal(await systemProbes.file(path), undefined);
  assert.equal(await systemProbes.file(directory), undefined);
  await writeFile(path, 'text');
  assert.ok(((await systemProbes.file(path))?.changedAt ?? 0) > 0);
  assert.match(
    await systemProbes.checksum(path),
    /^982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1$/,
  );
  await symlink(path, join(directory, 'link'));
  await assert.rejects(systemProbes.checksum(join(directory, 'link')), { code: 'AGENT_PATH_UNSAFE' });
});
