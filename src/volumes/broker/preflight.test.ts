import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createPreflight } from './preflight.ts';

const share = '127.0.0.1/export';

/** Starts a server that calls `answer` with the first bytes of a connection. Returns its port. */
async function listen(t: TestContext, answer: (socket: Socket, request: Buffer) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (request: Buffer) => answer(socket, request));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

const checkOn = (port: number, deadlineMs = 20_000): ReturnType<typeof createPreflight> =>
  createPreflight({ ports: { nfs: port, smb: port }, deadlineMs });

/** Returns the reply of a server with the accept status. */
function rpcReply(request: Buffer, accepted: number): Buffer {
  const reply = Buffer.alloc(28);
  reply.writeUInt32BE(0x80_00_00_18, 0);
  request.copy(reply, 4, 4, 8);
  reply.writeUInt32BE(1, 8);
  reply.writeUInt32BE(accepted, 24);
  return reply;
}

test('an NFS server of any version answers', async (t) => {
  for (const accepted of [0, 2]) {
    const port = await listen(t, (socket, request) => {
      assert.equal(request.readUInt32BE(0), 0x80_00_00_28);
      assert.deepEqual([request.readUInt32BE(16), request.readUInt32BE(24)], [100_003, 0]);
      socket.write(rpcReply(request, accepted));
    });
    assert.equal(await checkOn(port)('nfs', share), undefined);
  }
});

test('an SMB server answers', async (t) => {
  const port = await listen(t, (socket, request) => {
    assert.equal(request.readUInt32BE(0), request.length - 4);
    const header = Buffer.from(request.subarray(4, 68));
    header.writeUInt32LE(1, 16);
    socket.write(Buffer.concat([Buffer.from([0, 0, 0, 64]), header]));
  });
  assert.equal(await checkOn(port)('smb', '//127.0.0.1/share'), undefined);
});

test('the error names the cause: another server, no server, one that is silent or disconnects, an invalid name', async (t) => {
  const web = await listen(t, (socket) =>
    socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n'),
  );
  for (const protocol of ['nfs', 'smb'] as const)
    assert.match((await checkOn(web)(protocol, share)) ?? '', /is not an (NFS|SMB) server/u);
  const lacking = await listen(t, (socket, request) => socket.write(rpcReply(request, 1)));
  assert.match((await checkOn(lacking)('nfs', share)) ?? '', /is not an NFS server/u);
  const closing = await listen(t, (socket) => socket.end());
  assert.match((await checkOn(closing)('smb', share)) ?? '', /closed the connection/u);
  const silent = await listen(t, () => undefined);
  assert.match((await checkOn(silent, 300)('nfs', share)) ?? '', /did not answer at port \d+ within 0\.3 s/u);

  const closedServer = createServer().listen(0, '127.0.0.1');
  await once(closedServer, 'listening');
  const { port } = closedServer.address() as AddressInfo;
  closedServer.close();
  await once(closedServer, 'close');
  assert.match((await checkOn(port)('nfs', share)) ?? '', /refuses connections/u);
  assert.match((await checkOn(port)('nfs', 'no-such-host.invalid/x')) ?? '', /cannot be resolved/u);
});
