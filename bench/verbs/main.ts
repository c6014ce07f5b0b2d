import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatTable } from '../../src/cli/output/table.ts';
import type { CallContext } from '../../src/cpi/call.ts';
import { parseConfig } from '../../src/cpi/config/config.ts';
import { verbOf } from '../../src/cpi/testing/verb-of.ts';
import { countingApi } from '../../src/cpi/testing/counting-api.ts';
import { networkPolicyKind } from '../../src/cpi/testing/foreign-kinds.ts';
import { startStorage } from '../../src/cpi/testing/storage-cloud.ts';
import { namespace } from '../../src/cpi/testing/test-cloud.ts';
import { type VerbScenario, verbScenarios } from '../../src/cpi/testing/verb-scenarios.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { buildArtefacts, CpiWorld } from '../../test/cpi/cpi-world.ts';
import { median } from '../median.ts';
import { type Measured, runMeasured } from './run-measured.ts';

/**
 * Measures requests, wall time and CPU time of every verb without failures: a real process against the
 * embedded API over TLS, with a node that reports at once that it runs pods. Each run has a new cluster. `npm
 * run bench:verbs [runs]`
 */
const runs = Number(process.argv[2] ?? 10);

const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-bench-'));
try {
  const artefacts = await buildArtefacts(join(directory, 'cpi'));
  const artefact = artefacts.get('executable') ?? artefacts.get('bundle');
  if (artefact === undefined) throw new Error('no artefact was built');
  const rows: string[][] = [];
  for (const scenario of verbScenarios) {
    const { reads, writes } = await inWorld(artefacts, scenario, countRequests);
    const samples: Measured[] = [];
    for (let run = 0; run < runs; run += 1) {
      samples.push(
        await inWorld(artefacts, scenario, (world) => callOnce(world, scenario, artefact.command)),
      );
    }
    const figure = (pick: (sample: Measured) => number): string => median(samples.map(pick)).toFixed(1);
    rows.push([
      scenario.name,
      String(reads),
      String(writes),
      figure(({ wallMs }) => wallMs),
      figure(({ cpuMs }) => cpuMs),
    ]);
  }
  process.stdout.write(`the CPI's ${artefact.name}, medians of ${runs} runs\n`);
  process.stdout.write(`${formatTable(['', 'reads', 'writes', 'wall ms', 'CPU ms'], rows)}\n`);
} finally {
  await rm(directory, { recursive: true });
}

interface Prepared {
  readonly cloud: CallContext;
  readonly config: string;
  readonly scenario: VerbScenario;
  readonly args: readonly unknown[];
}

async function inWorld<T>(
  artefacts: CpiWorld['artefacts'],
  scenario: VerbScenario,
  work: (prepared: Prepared) => Promise<T>,
): Promise<T> {
  const world = await CpiWorld.start(artefacts, [networkPolicyKind]);
  const storage = await startStorage(world.api);
  try {
    const settings = { ...world.settings, deadlines: {}, ...scenarioSettings(world, scenario) };
    const config = join(world.directory, 'verbs.json');
    await writeFile(config, JSON.stringify(settings), { mode: 0o600 });
    const cloud: CallContext = {
      api: world.api,
      exec: world.node.exec,
      config: parseConfig(settings, {}),
      namespace,
      diskNamespace: namespace,
      clock: systemClock,
      newUuid: randomUUID,
      directorUuid: 'bench',
      log: () => undefined,
      reportProgress: () => undefined,
    };
    const args = await scenario.prepare(cloud);
    if (scenario.exec !== undefined) world.commands.exec = scenario.exec(cloud);
    return await work({ cloud, config, scenario, args });
  } finally {
    await storage.stop();
    await world.stop();
  }
}

function scenarioSettings({ settings }: CpiWorld, { config = {} }: VerbScenario): object {
  const kubernetes = config['kubernetes'] ?? {};
  return { ...config, kubernetes: { ...settings.kubernetes, ...kubernetes } };
}

async function countRequests({
  cloud,
  scenario,
  args,
}: Prepared): Promise<{ reads: number; writes: number }> {
  const { api, requests } = countingApi(cloud.api);
  await verbOf(scenario.method)({ ...cloud, api, exec: scenario.exec?.(cloud) ?? cloud.exec }, args);
  return { reads: requests.reads.length, writes: requests.writes.length };
}

async function callOnce(
  { config, args }: Prepared,
  { method, name }: VerbScenario,
  command: readonly string[],
): Promise<Measured> {
  const request = { method, arguments: args, context: {}, api_version: 2 };
  const measured = await runMeasured([...command, config], JSON.stringify(request));
  const { error } = JSON.parse(measured.stdout) as { error: unknown };
  if (error !== null) throw new Error(`${name} returned ${measured.stdout}`);
  return measured;
}
