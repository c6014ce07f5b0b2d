import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { systemClock, type Clock } from '../../platform/clock.ts';
import type { Action } from '../actions/action.ts';
import { ping } from '../actions/state.ts';
import { TaskQueue } from '../task/task-queue.ts';
import { agentFromSources, AgentProcess } from '../testing/agent-process.ts';
import { eventually } from '../testing/eventually.ts';
import { FakeNatsServer, messageFor } from '../testing/fake-nats-server.ts';
import { freePort } from '../testing/nats-server.ts';
import { TestVm } from '../testing/test-vm.ts';
import { NatsBus, type NatsBusOptions } from './nats-bus.ts';
import { NatsConnection } from './nats-connection.ts';

const agentId = 'agent-1';
const request = (method: string, replyTo: string): string =>
  messageFor(`agent.${agentId}`, JSON.stringify({ method, arguments: [], reply_to: replyTo }));
/** Pauses between attempts are short. */
const hasty: Clock = { ...systemClock, sleep: (_, signal) => systemClock.sleep(1, signal) };
const long: Action = { mode: 'synchronous', run: async () => 'x'.repeat(5000) };

async function startBus(
  t: TestContext,
  port: number,
  options: Pick<NatsBusOptions, 'credentials'> & Partial<NatsBusOptions>,
): Promise<readonly string[]> {
  const lines: string[] = [];
  const write = (text: string): void => void lines.push(text);
  const log = { info: write, error: write };
  const bus = new NatsBus({
    ...{ agentId, clock: hasty, log, onConnected: () => {}, exchangeDeadlineMs: 1000 },
    servers: [{ host: '127.0.0.1', port }],
    ...options,
  });
  t.after(() => bus.close());
  const actions = new Map([
    ['ping', ping],
    ['long', long],
  ]);
  await bus.start({ actions, tasks: new TaskQueue({ newId: () => '1' }), clock: systemClock, log });
  return lines;
}

const credentials = [{ certificate: '', privateKey: '', ca: '' }];

test('a server that takes connections and says nothing keeps no socket of the agent', async (t) => {
  const open = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => {});
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await startBus(t, port, { credentials, connectTimeoutMs: 20 });
  await eventually('some attempts', async () => accepted >= 6 || undefined);
  await eventually('the end of their sockets', async () => open.size <= 2 || undefined);
});

test('a server that says nothing does not hold the end of the agent', async (t) => {
  const accepted = Promise.withResolvers<Socket>();
  const server = createServer((socket) => {
    accepted.resolve(socket.on('error', () => {}));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const log = { info: () => {}, error: () => {} };
  const bus = new NatsBus({
    ...{ agentId, clock: hasty, log, onConnected: () => {}, exchangeDeadlineMs: 1000, credentials },
    ...{ servers: [{ host: '127.0.0.1', port }], connectTimeoutMs: 60_000 },
  });
  await bus.start({ actions: new Map(), tasks: new TaskQueue({ newId: () => '1' }), clock: hasty, log });
  const socket = await accepted.promise;
  await bus.close();
  assert.equal(socket.destroyed, false);
  socket.destroy();
});

test('a server without TLS gets nothing from the agent', async (t) => {
  let received = '';
  let ended = 0;
  const server = createServer((socket) => {
    socket.on('data', (data) => (received += data.toString()));
    socket.on('close', () => (ended += 1)).on('error', () => {});
    socket.write(`INFO {"max_payload":1048576,"proto":1}\r\n${request('ping', 'director.a.b.c')}PONG\r\n`);
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const lines = await startBus(t, port, { credentials });
  await eventually('some attempts', async () => ended >= 3 || undefined);
  assert.equal(received, '');
  assert.equal(lines.length, 1);
  assert.match(
    String(lines[0]),
    /does not support 'tls'; check that agent\.mbus is the URL of a director's NATS/u,
  );
});

test('a problem is logged once for each change, not for each try', async (t) => {
  const port = await freePort();
  let tries = 0;
  const counting: Clock = { ...hasty, sleep: (...args) => ((tries += 1), hasty.sleep(...args)) };
  const lines = await startBus(t, port, { credentials, clock: counting });
  const someTries = (): Promise<true> => {
    const end = tries + 5;
    return eventually('some tries', async () => tries > end || undefined);
  };
  await someTries();
  const server = createServer((socket) => {
    socket.on('error', () => {}).write(`INFO {"max_payload":1048576,"proto":1}\r\n`);
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  await someTries();
  server.close();
  await someTries();
  // the end of the server may reset a connection that it has not accepted yet
  const logged = lines.filter((line) => !line.includes('ECONNRESET'));
  assert.equal(logged.length, 3, lines.join('\n'));
  for (const [index, cause] of [/refused/u, /does not support 'tls'/u, /refused/u].entries()) {
    assert.match(String(logged[index]), cause);
    assert.match(String(logged[index]), /; check that .*, the agent tries again$/u);
  }
});

test('a server that ends a connection before the subscription is tried again', async (t) => {
  const server = await FakeNatsServer.start((line, socket, connection) => {
    if (!line.startsWith('SUB') || connection > 2) return false;
    socket.destroy();
    return true;
  });
  t.after(() => server.close());
  const lines = await startBus(t, server.port, { credentials: [server.credentials] });
  await eventually('a connection', async () => lines.find((line) => line.includes('is connected')));
  assert.equal(lines.filter((line) => line.includes('is not usable')).length, 1);
});

test('a connection to a server that does not answer any more is given up', async (t) => {
  let connections = 0;
  const server = await FakeNatsServer.start((line, _socket, connection) => {
    connections = connection;
    // the first PING follows CONNECT, the second follows SUB
    return connection === 1 && line === 'PING' && ++pings > 2;
  });
  let pings = 0;
  t.after(() => server.close());
  await startBus(t, server.port, { credentials: [server.credentials], pingIntervalMs: 20 });
  await eventually('another connection', async () => connections > 1 || undefined);
});

test('a refusal of the subject ends a connection, which would receive nothing', async (t) => {
  let connections = 0;
  const server = await FakeNatsServer.start((line, socket, connection) => {
    connections = connection;
    if (connection === 1 && line.startsWith('SUB'))
      setTimeout(
        () => socket.write(`-ERR 'Permissions Violation for Subscription to "agent.agent-1"'\r\n`),
        50,
      );
    return false;
  });
  t.after(() => server.close());
  const lines = await startBus(t, server.port, { credentials: [server.credentials] });
  await eventually('another connection', async () => connections > 1 || undefined);
  assert.match(lines.join('\n'), /check that the certificate is that of this VM's agent/u);
});

test('a server that ends the connection when the agent wants to end it does not hold the agent', async (t) => {
  const server = await FakeNatsServer.start((line, socket) => {
    if (line.startsWith('UNSUB')) socket.destroy();
    return line.startsWith('UNSUB');
  });
  t.after(() => server.close());
  const connection = await NatsConnection.open({
    ...{ server: { host: '127.0.0.1', port: server.port }, credentials: server.credentials },
    ...{ subject: 'agent.agent-1', onMessage: () => {}, onError: () => {} },
  });
  await connection.drain();
  assert.equal(connection.isClosed, true);
});

test('a response that the server does not take becomes an exception, and the agent goes on', async (t) => {
  const received: string[] = [];
  const server = await FakeNatsServer.start(
    (line, socket) => {
      received.push(line);
      if (line.startsWith('SUB'))
        socket.write(request('long', 'director.a.b.long') + request('ping', 'director.a.b.ping'));
      return false;
    },
    { max_payload: 1024 },
  );
  t.after(() => server.close());
  await startBus(t, server.port, { credentials: [server.credentials] });
  await eventually('the second response', async () => received.includes('{"value":"pong"}') || undefined);
  assert.ok(received.some((line) => line.includes('Response exceeded maximum allowed length')));
});

test('messages that are no requests are logged once or answered, and use no memory', async (t) => {
  let answered = false;
  const exceptions: string[] = [];
  const malformed = ['"method":1', '"method":"ping","arguments":{}', '"arguments":[]'].map(
    (text, index) => `{${text},"reply_to":"director.a.b.${index}"}`,
  );
  const bad = ['', 'null', '[]', '['.repeat(200_000), ...malformed];
  const longSubject = `director.${'a'.repeat(100_000)}`;
  const server = await FakeNatsServer.start((line, socket) => {
    answered ||= line === '{"value":"pong"}';
    if (line.startsWith('{"exception"')) exceptions.push(line);
    if (!line.startsWith('SUB')) return false;
    for (const body of bad) socket.write(messageFor('agent.agent-1', body));
    for (const replyTo of [longSubject, 'director.>', 'hm.agent.alert.x', 'director.a\r\nPUB x 1'])
      socket.write(request('ping', replyTo));
    socket.write(request('ping', 'director.a.b.last'));
    return false;
  });
  t.after(() => server.close());
  const lines = await startBus(t, server.port, { credentials: [server.credentials] });
  await eventually('the response', async () => answered || undefined);
  assert.equal(lines.filter((line) => line.includes('is not a request')).length, 1);
  assert.equal(exceptions.length, malformed.length);
  assert.match(String(exceptions[0]), /it needs a method and a list of arguments/u);
});

test('a server that answers in time only if each step has the whole time is not used', async (t) => {
  const timeoutMs = 500;
  let pings = 0;
  const server = await FakeNatsServer.start((line, socket) => {
    if (line !== 'PING') return false;
    pings += 1;
    // the first PING follows CONNECT, the second follows SUB
    setTimeout(() => socket.write('PONG\r\n'), timeoutMs * (pings === 1 ? 0.6 : 0.8));
    return true;
  });
  t.after(() => server.close());
  await assert.rejects(
    NatsConnection.open({
      ...{ server: { host: '127.0.0.1', port: server.port }, credentials: server.credentials },
      ...{ subject: 'agent.agent-1', onMessage: () => {}, onError: () => {}, connectTimeoutMs: timeoutMs },
    }),
    /timeout|did not answer within/iu,
  );
});

test('what the library prints about a server is one line of the log', async (t) => {
  const server = await FakeNatsServer.start((line, socket) => {
    if (line.startsWith('SUB')) socket.write('PONG\r\n\u001b[2Jno command\r\n');
    return line.startsWith('SUB');
  });
  t.after(() => server.close());
  const { certificate, privateKey: private_key, ca } = server.credentials;
  const mbus = { cert: { certificate, private_key, ca }, urls: [`tls://127.0.0.1:${server.port}`] };
  const vm = await TestVm.create(undefined, { mbus });
  t.after(() => vm.remove());
  const agent = AgentProcess.spawn([...agentFromSources, '-b', vm.directories.base]);
  t.after(() => agent.end('SIGKILL'));
  await agent.logged(/reader closed/u);
  await agent.end('SIGKILL');
  for (const line of agent.output.trimEnd().split('\n'))
    assert.match(line, /^[-0-9]{10}T\S{12}Z (INFO|ERROR) \P{Cc}+$/u);
});
