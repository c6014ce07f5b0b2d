import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { buildExecutable } from '../../scripts/build-executable.ts';
import { noNatsServer, type TestNatsServer } from '../../src/agent/testing/nats-server.ts';
import { formatTable } from '../../src/cli/output/table.ts';
import { DirectorSetup } from '../../test/director/scripted/director-setup.ts';
import { checkout } from '../../test/support/embedded-environment.ts';
import { residentMemory } from '../broker/child-server.ts';
import { median } from '../median.ts';
import type { BareRequest } from './bare-client.ts';
import { type Contestant, ourAgent, theUpstreamAgent } from './contestants.ts';
import { MeasuredAgent, type Sample } from './measured-agent.ts';

/**
 * Measures our agent's executable in VMs of the embedded cluster: create_vm to the first heartbeat and to a
 * running job, update_settings to the answer to the next request, and memory at rest. The scripted director
 * waits a second between two get_task, as a real one does. The agent is compared with a program that only
 * connects, does the TLS handshake and publishes, and with upstream's agent if BOSH_AGENT, BOSH_MONIT and
 * BOSH_DAVCLI name its programs, in turn. `npm run bench:agent [-- --rounds N]`
 */
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
const rounds = Number(values.rounds);
const restMs = 5000;

const atEnd: (() => Promise<unknown>)[] = [];
if (noNatsServer === false) {
  try {
    await compare();
  } finally {
    for (const end of atEnd.toReversed()) await end();
  }
} else {
  process.stderr.write(`bench:agent ${noNatsServer}; install it with: apt-get install nats-server\n`);
  process.exitCode = 1;
}

async function compare(): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-bench-'));
  atEnd.push(() => rm(scratch, { recursive: true }));
  const setup = await DirectorSetup.start({ pollMs: 1000 });
  atEnd.push(() => setup.close());
  const bareClient = await executable('bench/agent/bare-client.ts', join(scratch, 'bare-client'));
  const upstream = theUpstreamAgent();
  if (typeof upstream === 'string') process.stdout.write(`upstream's agent: skipped, ${upstream}\n`);
  const contestants = [
    ourAgent(await executable('src/agent/main.ts', join(scratch, 'bosh-agent'))),
    ...(typeof upstream === 'string' ? [] : [upstream]),
  ];
  const agents = await startAll(contestants, setup);
  const bare: Sample[] = [];
  const samples: Sample[][] = contestants.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    bare.push(await runBare(bareClient, setup.server));
    for (const [index, agent] of agents.entries()) samples[index]?.push(await agent.live());
  }
  print(contestants, bare, samples);
}

async function executable(entry: string, outFile: string): Promise<string> {
  const built = await buildExecutable(join(checkout, entry), outFile);
  if (built === undefined) throw new Error('the executable can be built and run on Linux on x86-64 only');
  return built;
}

/** Starts a cluster for each agent. */
async function startAll(
  contestants: readonly Contestant[],
  setup: DirectorSetup,
): Promise<readonly MeasuredAgent[]> {
  const firstHeartbeats = new Map<string, number>();
  const monitor = await setup.server.listen('hm.agent.heartbeat.*', (subject) => {
    const agentId = subject.slice('hm.agent.heartbeat.'.length);
    if (!firstHeartbeats.has(agentId)) firstHeartbeats.set(agentId, performance.now());
  });
  atEnd.push(() => monitor.close());
  const release = await setup.hello();
  const agents: MeasuredAgent[] = [];
  for (const [index, contestant] of contestants.entries()) {
    const ports = { setup, release, firstHeartbeats, address: `127.64.77.${10 + index}`, restMs };
    const agent = await MeasuredAgent.start(contestant, ports);
    atEnd.push(() => agent.close());
    agents.push(agent);
  }
  return agents;
}

/** Measures the bare client. It stands for each of the times, and for the memory. */
async function runBare(program: string, server: TestNatsServer): Promise<Sample> {
  const { ca = '', ...pair } = await server.directorCertificate();
  const request: BareRequest = {
    port: server.port,
    credentials: { ...pair, ca },
    subject: 'hm.director.alert',
  };
  const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  child.stdin.end(JSON.stringify(request));
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(([code]) => Promise.reject(new Error(`the bare client ended with ${String(code)}`))),
  ])) as [string];
  const memory = await residentMemory(child.pid);
  child.kill('SIGTERM');
  await ended;
  const ms = Number(line);
  return { heartbeat: ms, running: ms, update: ms, memory };
}

function print(
  contestants: readonly Contestant[],
  bare: readonly Sample[],
  samples: readonly (readonly Sample[])[],
): void {
  const rows: readonly (readonly [title: string, pick: (sample: Sample) => number])[] = [
    ['create_vm to the first heartbeat, ms', ({ heartbeat }) => heartbeat],
    ['create_vm to a running job, ms', ({ running }) => running],
    ['update_settings to the next answer, ms', ({ update }) => update],
    ['memory at rest, MiB', ({ memory }) => memory],
  ];
  const titles = contestants.flatMap(({ name }) => [name, 'ratio to bare']);
  const heading = [`medians of ${rounds}`, 'bare client', ...titles];
  if (contestants.length > 1) heading.push("this agent's ratio to upstream's");
  const cells = rows.map(([title, pick]) => {
    const least = median(bare.map(pick));
    const figures = samples.map((each) => median(each.map(pick)));
    const [ours = NaN, upstream] = figures;
    const row = [title, least.toFixed(1)];
    for (const figure of figures) row.push(figure.toFixed(0), (figure / least).toFixed(1));
    if (upstream !== undefined) row.push((ours / upstream).toPrecision(2));
    return row;
  });
  process.stdout.write(`${formatTable(heading, cells)}\n`);
}
