import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { socks5Connect } from '../../src/bosh/agent-client/socks5-connect.ts';
import { mainModulePath } from '../../src/cli/installation.ts';
import { formatTable } from '../../src/cli/output/table.ts';
import { PodWorld } from '../../test/cluster/pod-world.ts';
import { testCluster } from '../../test/cluster/test-cluster.ts';
import { median } from '../median.ts';

/**
 * Compares the tunnel with kubectl port-forward, to the same pod in the same run: the time to the first byte
 * of a new connection, and the throughput of one. `npm run bench:tunnel -- [runs]` prints medians and their
 * ratios.
 */
const runs = Number(process.argv[2] ?? 10);
if (!Number.isInteger(runs) || runs < 1)
  throw new Error(`"${process.argv[2]}" is not a valid number of runs`);
const kubeconfig = process.env['BOSH_KUBERNETES_TEST_KUBECONFIG'] ?? '';
if (kubeconfig === '') throw new Error('needs a real cluster: npm run bench:tunnel');
const size = 64 * 1024 * 1024;
const ports = { greeting: 7000, large: 7001 };

/** The program of the pod; it serves both ports. */
const script = `
dd if=/dev/zero of=/large bs=1M count=${size / 1024 / 1024}
nc -ll -p ${ports.greeting} -e echo hello &
nc -ll -p ${ports.large} -e cat /large`;

type Open = (port: number) => Promise<Socket>;
const children: ChildProcess[] = [];
const world = await PodWorld.open();
try {
  await world.pod('server', { script });
  const { status } = await world.ready('server');
  await world.eventually(async () => {
    const sockets = await world.run('server', 'cat /proc/net/tcp /proc/net/tcp6');
    return Object.values(ports).every((port) => sockets.includes(`:${hex(port)} `)) ? true : undefined;
  });
  const ways: Record<string, Open> = {
    tunnel: await openTunnel(status?.podIP ?? ''),
    'kubectl port-forward': await openPortForward(),
  };
  const samples: Record<string, { first: number[]; rate: number[] }> = {};
  for (let run = 0; run < runs; run += 1)
    for (const [name, open] of Object.entries(ways)) {
      const sample = (samples[name] ??= { first: [], rate: [] });
      sample.first.push(await untilFirstByte(open));
      sample.rate.push(await throughput(open));
    }
  const figures = Object.values(samples).map(({ first, rate }) => [median(first), median(rate)] as const);
  const rows = Object.keys(samples).map((name, index) => {
    const [first = 0, rate = 0] = figures[index] ?? [];
    return [name, first.toFixed(1), rate.toFixed(0)];
  });
  const [own, kubectl] = figures;
  const ratio = (index: 0 | 1): string => ((own?.[index] ?? 0) / (kubectl?.[index] ?? 1)).toFixed(2);
  rows.push(['tunnel over kubectl', ratio(0), ratio(1)]);
  process.stdout.write(`${formatTable([`medians of ${runs}`, 'first byte, ms', 'MiB/s'], rows)}\n`);
} finally {
  for (const child of children) child.kill('SIGTERM');
  await world.close();
}

async function openTunnel(address: string): Promise<Open> {
  const main = mainModulePath(join(import.meta.dirname, '..', '..'));
  const args = ['tunnel', '--kubeconfig', kubeconfig, '--namespace', world.namespace];
  const port = await start([process.execPath, main, ...args], /127\.0\.0\.1:(\d+)/u);
  return (target) => socks5Connect({ host: '127.0.0.1', port }, { host: address, port: target });
}

async function openPortForward(): Promise<Open> {
  const local = new Map<number, number>();
  for (const port of Object.values(ports)) {
    const args = [
      'port-forward',
      '--kubeconfig',
      kubeconfig,
      '-n',
      world.namespace,
      'pod/server',
      `:${port}`,
    ];
    local.set(port, await start([testCluster().kubectl, ...args], /127\.0\.0\.1:(\d+)/u));
  }
  return async (target) => {
    const socket = connect(local.get(target) ?? 0, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };
}

/** Starts a program and returns the port that it prints. */
async function start([program = '', ...args]: readonly string[], announced: RegExp): Promise<number> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  for await (const line of createInterface(child.stdout)) {
    const [, port] = announced.exec(line) ?? [];
    if (port === undefined) continue;
    child.stdout.resume();
    return Number(port);
  }
  throw new Error(`${program} ended before it had a port`);
}

async function untilFirstByte(open: Open): Promise<number> {
  const begun = performance.now();
  const socket = await open(ports.greeting);
  await once(socket, 'data');
  const took = performance.now() - begun;
  socket.destroy();
  return took;
}

/** Measures from the first byte to the last, without the time to close the connection. */
async function throughput(open: Open): Promise<number> {
  const socket = await open(ports.large);
  let length = 0;
  let begun = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    if (length === 0) begun = performance.now();
    length += chunk.length;
    if (length >= size) break;
  }
  if (length < size) throw new Error(`received ${length} bytes instead of ${size}`);
  return length / 1024 / 1024 / ((performance.now() - begun) / 1000);
}

function hex(port: number): string {
  return port.toString(16).toUpperCase();
}
