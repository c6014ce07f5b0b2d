import assert from 'node:assert/strict';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { MbusConnection } from '../../bosh/agent-client/mbus-connection.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { Run } from '../session.ts';
import { newAgentBudget, oldAgentBudget, waitForAgent } from './wait-for-agent.ts';

/**
 * Returns a run whose agent is pinged by a real connection. Its clock advances by the sleeps, and by 2.5 s
 * with each ping.
 */
function testRun(ping: () => Promise<unknown>, describeVm: () => string | undefined = () => undefined) {
  let now = 0;
  const lines: string[] = [];
  const run = {
    clock: { now: () => now, sleep: async (milliseconds: number) => void (now += milliseconds) },
    agent: { ping: async () => ((now += 2500), ping()) },
    cloud: { describeVm: async () => describeVm() },
    warn: (line: string) => void lines.push(`${now / 1000} s: ${line}`),
    signal: undefined,
  } as unknown as Run;
  return { run, lines };
}

async function portOf(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** By default the wait for an answer is so long that a slow machine does not run into it. */
const pinging =
  (port: number, idleTimeoutMs = 60_000) =>
  (): Promise<unknown> =>
    new MbusConnection({ mbusUrl: `https://u:p@127.0.0.1:${port}` }).send(
      {
        ...{ method: 'POST', path: '/agent', idleTimeoutMs, deadline: 120_000 },
        body: { stream: Readable.from([]), length: 0 },
      },
      async () => 'pong',
    );

const causes: readonly {
  readonly what: string;
  readonly port: (t: TestContext) => Promise<number>;
  readonly line: RegExp;
  readonly idleTimeoutMs?: number;
}[] = [
  {
    what: 'a port without a listener',
    port: closedPort,
    line: /cannot be reached: .*ECONNREFUSED.*; nothing listens there yet: .*kubectl logs/,
  },
  {
    what: 'an address that does not answer',
    port: (t) => portOf(t, createServer()),
    idleTimeoutMs: 100,
    line: /cannot be reached: no response within 0\.1 s; this machine has no route to that address, or a firewall/,
  },
  {
    what: 'another server at the port',
    port: (t) => portOf(t, createHttpServer()),
    line: /cannot be reached: .*; the server there is not the agent: correct the port in cloud_provider\.mbus/,
  },
  {
    what: 'a proxy that closes the connection',
    port: (t) =>
      portOf(
        t,
        createServer((socket) => socket.destroy()),
      ),
    line: /cannot be reached: .*; a proxy or load balancer in between closes the connection/,
  },
];

for (const { what, port, line, idleTimeoutMs } of causes) {
  test(`${what} is reported once within 15 s with the cause and the next step, and again in the error`, async (t) => {
    const { run, lines } = testRun(pinging(await port(t), idleTimeoutMs));

    await assert.rejects(waitForAgent(run, 30_000, { cloud: run.cloud, vmCid: 'vm-1' }), (error) => {
      assert.ok(isProductError(error, 'AGENT_UNREACHABLE'));
      assert.match(error.message, /did not answer a ping within 30 s: /);
      assert.match(error.message, line);
      return true;
    });

    assert.equal(lines.length, 1, lines.join('\n'));
    const [seconds = '', output = ''] = lines[0]?.split(' s: waiting for the agent: ') ?? [];
    assert.ok(Number(seconds) <= 15, lines[0]);
    assert.match(output, line);
  });
}

test('an unknown host is reported as the host of the manifest', async () => {
  const cause = Object.assign(new Error('getaddrinfo ENOTFOUND vm.example'), { code: 'ENOTFOUND' });
  const { run } = testRun(() => Promise.reject(new ProductError('AGENT_UNREACHABLE', 'no', { cause })));
  await assert.rejects(waitForAgent(run, oldAgentBudget), /correct the host in cloud_provider\.mbus/);
});

test('the line follows the cause: the pod, the connection to the agent, the CPI', async () => {
  const unreachable = pinging(await closedPort());
  const states = [
    'container bosh CrashLoopBackOff, 1 restart; look at its log',
    'container bosh CrashLoopBackOff, 1 restart; look at its log',
    'container bosh CrashLoopBackOff, 2 restarts; look at its log',
    undefined,
    new ProductError('CPI_ERROR', 'no token'),
  ];
  const { run, lines } = testRun(unreachable, () => {
    const state = states.shift();
    if (state instanceof Error) throw state;
    return state;
  });

  await assert.rejects(waitForAgent(run, 50_000, { cloud: run.cloud, vmCid: 'vm-1' }), {
    code: 'AGENT_UNREACHABLE',
  });

  const [first = '', second = '', third = '', fourth = ''] = lines;
  assert.match(
    first,
    /^\d(\.\d+)? s: waiting for the agent: VM 'vm-1': container bosh CrashLoopBackOff, 1 restart/,
  );
  assert.match(second, /2 restarts/);
  assert.match(third, /nothing listens there yet/);
  assert.match(fourth, /VM 'vm-1': the CPI cannot report its state: no token/);
  assert.equal(lines.length, 4, lines.join('\n'));
});

test('an agent that answers within five seconds, or a previous VM, causes no message', async () => {
  let pings = 0;
  const refused = new ProductError('AGENT_UNREACHABLE', 'not yet');
  const soon = testRun(async () => {
    if ((pings += 1) < 2) throw refused;
  });
  await waitForAgent(soon.run, newAgentBudget, { cloud: soon.run.cloud, vmCid: 'vm-1' });
  const previous = testRun(() => Promise.reject(refused));
  await assert.rejects(waitForAgent(previous.run, oldAgentBudget));
  assert.deepEqual([...soon.lines, ...previous.lines], []);
});
