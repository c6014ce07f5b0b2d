import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { clientOwnerFinder, ownerInTable, type Connection } from './client-owner.ts';
import { ownSocketFinder, type OwnSocket } from './own-sockets.ts';
import type { Destination } from './socks5.ts';
import { startTunnel } from './start-tunnel.ts';

const stranger = 65_534;
const asRoot = process.getuid?.() === 0 ? {} : { skip: 'needs root, to be another user' };

/** Starts a tunnel of this user; returns it with the destinations that its clients reached. */
async function withTunnel(t: TestContext, owner = clientOwnerFinder(), ownSocket?: OwnSocket) {
  const reached: Destination[] = [];
  const log: string[] = [];
  const tunnel = await startTunnel({
    port: 0,
    connect: (destination) => {
      reached.push(destination);
      return Promise.resolve(new PassThrough());
    },
    clientOwner: owner,
    ownSocket,
    uid: process.getuid?.(),
    log: (line) => log.push(line),
  });
  t.after(() => tunnel.close());
  return { tunnel, reached, log };
}

/** Greeting and request of SOCKS5, as text for printf. */
const handshake = String.raw`\005\001\000\005\001\000\001\012\000\000\001\000\026`;

/** Returns the data that a client of another user receives. */
async function asStranger(script: string): Promise<Buffer> {
  const child = spawn('/bin/bash', ['-c', script], {
    ...{ uid: stranger, gid: stranger, cwd: '/' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = await Promise.all([buffer(child.stdout), once(child, 'close')]);
  return output;
}

test('a client of another user gets no answer, over IPv4 and over an IPv6 socket', asRoot, async (t) => {
  const { tunnel, reached, log } = await withTunnel(t);
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1']) {
    const script = `exec 3<>/dev/tcp/${address}/${tunnel.port} && printf '${handshake}' >&3 && cat <&3 2>/dev/null`;
    assert.equal((await asStranger(script)).length, 0, address);
  }
  assert.deepEqual(reached, []);
  assert.equal(log.length, 1, 'a client that comes again does not fill the log');
  assert.match(log[0] ?? '', /A client of user 65534 was refused/);

  const own = connect(tunnel.port, '127.0.0.1');
  own.write(
    Buffer.from(
      handshake.replaceAll(/\\(\d{3})/gu, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
      'latin1',
    ),
  );
  await once(own, 'readable');
  assert.equal((own.read() as Buffer)[0], 5);
  own.destroy();
});

test(
  "a client of the same user in a container with the machine's network gets no answer",
  asRoot,
  async (t) => {
    const { tunnel, reached, log } = await withTunnel(t, clientOwnerFinder(), ownSocketFinder());
    const script = `exec 3<>/dev/tcp/127.0.0.1/${tunnel.port} && printf '${handshake}' >&3 && head -c 2 <&3 2>/dev/null`;
    const answerTo = async (...command: string[]): Promise<number> => {
      const [program, ...args] = [...command, '/bin/bash', '-c', script];
      const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      const [output] = await Promise.all([buffer(child.stdout), once(child, 'close')]);
      return output.length;
    };
    const container = ['unshare', '--pid', '--fork', '--mount-proc'];
    assert.equal(await answerTo(...container), 0);
    assert.equal(await answerTo('unshare', '--user', '--map-root-user', '--pid', '--fork'), 0);
    assert.deepEqual(reached, []);
    assert.equal(log.length, 1, 'a client that comes again does not fill the log');
    assert.match(log[0] ?? '', /another pid namespace was refused.* --allow-containers/);
    assert.equal(await answerTo(), 2);

    const open = await withTunnel(t);
    const allowed = script.replaceAll(String(tunnel.port), String(open.tunnel.port));
    const child = spawn('unshare', ['--pid', '--fork', '/bin/bash', '-c', allowed], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    assert.equal((await buffer(child.stdout)).length, 2);
  },
);

test(
  "a closed socket of another user's client has no owner, although older kernels show root",
  asRoot,
  async (t) => {
    const closed = Promise.withResolvers<void>();
    const { tunnel, reached } = await withTunnel(t, async (connection: Connection) => {
      await closed.promise;
      return clientOwnerFinder()(connection);
    });
    await asStranger(`exec 3<>/dev/tcp/127.0.0.1/${tunnel.port} && printf '${handshake}' >&3 && exec 3>&-`);
    closed.resolve();
    // a later client of this user is served
    const own = connect(tunnel.port, '127.0.0.1');
    own.write(Uint8Array.of(5, 1, 0));
    await once(own, 'readable');
    own.destroy();
    assert.deepEqual(reached, []);
  },
);

test("the owner is that of the client's row, and not of the tunnel's own row or of a row without a process", () => {
  const row = (local: string, remote: string, uid: number, inode: number) =>
    `   0: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000 20 4 30 10 -1`;
  const connection = {
    client: { address: '127.0.0.1', port: 40_000 },
    server: { address: '127.0.0.1', port: 1080 },
  };
  const [client, server] = ['0100007F:9C40', '0100007F:0438'];
  const header =
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
  const owner = (...rows: string[]) => ownerInTable([header, ...rows].join('\n'), connection);
  assert.deepEqual(owner(row(server, client, 0, 7), row(client, server, 1000, 8)), { uid: 1000, inode: '8' });
  assert.equal(owner(row(client, server, 0, 0)), undefined);
  assert.equal(owner(row('0100007F:9C41', server, 1000, 8)), undefined);
  const mapped = '0000000000000000FFFF0000';
  assert.equal(owner(row(mapped + client, mapped + server, 1001, 9))?.uid, 1001);
});

test('ten thousand concurrent connections read the tables as often as one', async () => {
  const read: string[] = [];
  const ownerOf = clientOwnerFinder(async (path) => {
    read.push(path);
    await Promise.resolve();
    return `0: 0100007F:9C40 0100007F:0438 01 0:0 0:0 0 ${read.length > 2 ? 1000 : 1001} 0 7`;
  });
  const server = { address: '127.0.0.1', port: 1080 };
  const owners = await Promise.all(
    Array.from({ length: 10_000 }, () => ownerOf({ client: { address: '127.0.0.1', port: 40_000 }, server })),
  );
  assert.deepEqual([...new Set(owners.map((owner) => owner?.uid))], [1001]);
  assert.equal(read.length, 2);
  // a caller during the reading, or later, gets the result of the next reading
  assert.equal((await ownerOf({ client: { address: '127.0.0.1', port: 40_000 }, server }))?.uid, 1000);
});

test('tables are read again after a failed read', async () => {
  let tries = 0;
  const ownerOf = clientOwnerFinder(async () => {
    if ((tries += 1) === 1) throw new Error('once');
    return '0: 0100007F:9C40 0100007F:0438 01 0:0 0:0 0 1000 0 7';
  });
  const connection = {
    client: { address: '127.0.0.1', port: 40_000 },
    server: { address: '127.0.0.1', port: 1080 },
  };
  await assert.rejects(ownerOf(connection), /once/);
  assert.equal((await ownerOf(connection))?.uid, 1000);
});
