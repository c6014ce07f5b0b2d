import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { agentSocketOf, socketScriptArgs } from './wait-for-agent.ts';
import { agentSocketExit, agentSocketScript } from './scripts/agent-socket.ts';
import { settingsKey } from '../objects/layout.ts';

const run = promisify(execFile);

/** Returns the socket of a VM with that settings document and those addresses. */
function socketOf(settings: object, ...addresses: string[]): ReturnType<typeof agentSocketOf> {
  const pod = { status: { podIPs: addresses.map((ip) => ({ ip })) } } as Pod;
  return agentSocketOf(
    { data: { [settingsKey]: Buffer.from(JSON.stringify(settings)).toString('base64') } },
    pod,
  );
}

/** Runs the script in the network of this process and returns its exit code. */
async function look(settings: object, ...addresses: string[]): Promise<number> {
  const socket = socketOf(settings, ...addresses);
  assert.ok(socket !== undefined);
  const words = ['-c', agentSocketScript, 'agent-socket', '1', ...socketScriptArgs(socket)];
  try {
    await run('/bin/sh', words);
    return 0;
  } catch (error) {
    return (error as { code: number }).code;
  }
}

async function listen(t: TestContext, host: string): Promise<{ server: Server; port: number } | undefined> {
  const server = createServer().listen(0, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    t.diagnostic(`not tried on ${host}: ${String(error)}`);
    return undefined;
  }
  t.after(() => server.close());
  return { server, port: (server.address() as AddressInfo).port };
}

const { there, missing } = agentSocketExit;
const https = (port: number, host = '0.0.0.0'): object => ({ mbus: `https://mbus:p%40ss@${host}:${port}` });

test('the kernel of this machine shows an agent that listens: on all addresses, on its own, on that of a network', async (t) => {
  for (const [host, ...addresses] of [
    ['0.0.0.0'],
    ['127.0.0.1', '127.0.0.1'],
    ['127.64.0.9', '10.0.0.7', '127.64.0.9'],
    ['::'],
    ['::1', '::1'],
  ] as const) {
    const listening = await listen(t, host);
    if (listening === undefined) continue;
    assert.equal(await look(https(listening.port), ...addresses), there, host);
  }
  const listening = await listen(t, '127.64.0.9');
  assert.ok(listening !== undefined);
  const networks = { networks: { default: { type: 'manual', ip: '127.64.0.9' } } };
  assert.equal(await look({ ...https(listening.port), ...networks }), there);
  assert.equal(await look(https(listening.port, '127.64.0.9')), there);
});

test('an agent of another address of the machine, and a port that is closed, are not taken for it', async (t) => {
  const other = await listen(t, '127.64.0.9');
  assert.ok(other !== undefined);
  assert.equal(await look(https(other.port), '127.64.0.10'), missing);
  other.server.close();
  assert.equal(await look(https(other.port), '127.64.0.9'), missing);
});

test('an agent of a broker: its connection counts, and a broker that merely listens does not', async (t) => {
  const broker = await listen(t, '127.0.0.1');
  assert.ok(broker !== undefined);
  const nats = { mbus: `nats://nats:secret@broker.example:${broker.port}` };
  assert.equal(await look(nats), missing);
  const accepted = once(broker.server, 'connection') as Promise<[Socket]>;
  const client = connect(broker.port, '127.0.0.1');
  const [server] = await accepted;
  t.after(() => {
    client.destroy();
    server.destroy();
  });
  assert.equal(await look(nats), there);
});

test('ports that a URL leaves out; a bus of another kind, or none, is not waited for', () => {
  assert.equal(socketOf({ mbus: 'nats://a:b@10.0.0.1' })?.port, 4222);
  assert.equal(socketOf({ mbus: 'https://a:b@0.0.0.0' })?.port, 443);
  for (const settings of [{}, { mbus: 'redis://a:b@c:1' }, { mbus: 'https://a:b/c@d:1' }])
    assert.equal(socketOf(settings), undefined);
});
