import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildCpi } from '../../scripts/build-cpi.ts';
import { formatTable } from '../../src/cli/output/table.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openTransport } from '../../src/kubernetes/client/open-transport.ts';
import { RestApi } from '../../src/kubernetes/client/rest-api.ts';
import { type Caller, byProcesses, inProcess } from './callers.ts';
import { measureGrowth } from './growth.ts';
import { type Spread, inParallel } from './in-parallel.ts';
import { startScaleServer } from './scale-server.ts';

const image = 'embedded.bosh-kubernetes/host-root:1';
const workers = 32;
const { values } = parseArgs({
  options: {
    vms: { type: 'string', default: '1000' },
    /** Start a CPI process for each call instead of running the verbs in this process. */
    processes: { type: 'boolean', default: false },
    /** How many pods, claims, volumes and VolumeAttachments of others exist at the end. */
    others: { type: 'string', default: '10000' },
    /** How often each method is called at each of these counts. */
    rounds: { type: 'string', default: '20' },
  },
});

const scratch = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-scale-'));
const server = await startScaleServer(10);
try {
  const config = {
    kubernetes: { kubeconfig: server.kubeconfig, namespace: 'bosh' },
    agent: { mbus: 'https://mbus:secret@0.0.0.0:6868' },
  };
  const call = await callerOf(config);
  const how = values.processes
    ? 'a CPI process for each call'
    : 'the verbs in one process, a connection for each call';
  process.stdout.write(`${values.vms} VMs, ${workers} workers, ${how}, 10 simulated nodes\n`);
  await lives(call, Number(values.vms));
  process.stdout.write(`the cluster has ${await server.memory()} MiB resident\n\n`);
  await growth(config);
} finally {
  await server.close();
  await rm(scratch, { recursive: true });
}

async function callerOf(config: object): Promise<Caller> {
  if (!values.processes) return inProcess(config);
  const { bundle, executable } = await buildCpi({ outDirectory: join(scratch, 'cpi') });
  const path = join(scratch, 'cpi.json');
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return byProcesses(executable === undefined ? [process.execPath, bundle] : [executable], path);
}

/** Runs the whole lifecycle of each VM. */
async function lives(call: Caller, count: number): Promise<void> {
  const agents = Array.from({ length: count }, (_, index) => `scale-${index}`);
  const vms: string[] = [];
  const disks: string[] = [];
  const networks = { default: { type: 'dynamic', cloud_properties: {} } };
  const rows: [string, Spread][] = [];
  const time = async (name: string, work: (index: number) => Promise<void>): Promise<void> => {
    rows.push([name, await inParallel(agents, workers, (_, index) => work(index))]);
  };
  await time('create_vm', async (index) => {
    const properties = { zone: `z${(index % 3) + 1}`, cpu: 1, memory: 1024 };
    const env = { bosh: { group: `scale-group-${index % 20}` } };
    const [cid] = (await call('create_vm', [agents[index], image, properties, networks, [], env])) as [
      string,
    ];
    vms[index] = cid;
  });
  await time('create_disk', async (index) => {
    disks[index] = String(await call('create_disk', [64, {}, vms[index]]));
  });
  await time('attach_disk', async (index) => void (await call('attach_disk', [vms[index], disks[index]])));
  await time('has_vm', async (index) => void (await call('has_vm', [vms[index]])));
  await time('detach_disk', async (index) => void (await call('detach_disk', [vms[index], disks[index]])));
  await time('delete_disk', async (index) => void (await call('delete_disk', [disks[index]])));
  await time('delete_vm', async (index) => void (await call('delete_vm', [vms[index]])));
  const figure = (ms: number): string => ms.toFixed(0);
  const cells = rows.map(([name, { wall, median, p95, max }]) => [
    ...[name, (wall / 1000).toFixed(1), figure((1000 * count) / wall)],
    ...[median, p95, max].map(figure),
  ]);
  process.stdout.write(`${formatTable(['', 'wall s', 'calls/s', 'median ms', 'p95 ms', 'max ms'], cells)}\n`);
}

/** Calls every method, one call at a time, in a namespace with a growing number of other objects. */
async function growth(config: object): Promise<void> {
  const transport = await openTransport(await loadAccess(server.kubeconfig));
  const api = new RestApi({ transport });
  const others = Number(values.others);
  const counts = [0, others / 10, others];
  const rounds = Number(values.rounds);
  const call = inProcess({ ...config, networks: { network_policy: true } });
  const table = await measureGrowth({ server, api, call, counts, rounds });
  transport.close();
  process.stdout.write(
    `the quickest of ${rounds} calls in ms, one at a time, the verbs in one process, and in brackets its ratio to that beside 0,\n` +
      `beside so many pods of others in the namespace, each with a claim, a volume and a VolumeAttachment:\n${table}\n`,
  );
  process.stdout.write(`the cluster has ${await server.memory()} MiB resident\n`);
}
