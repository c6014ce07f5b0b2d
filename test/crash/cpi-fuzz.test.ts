import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertOneRecord, runCpi } from '../cpi/artefact.ts';
import { CpiWorld } from '../cpi/cpi-world.ts';
import { cpiSections } from '../cpi/documented.ts';
import { checkEnvelope } from './cpi-fuzz/envelope.ts';
import { fuzzWorld } from './cpi-fuzz/fuzz-world.ts';
import type { Input } from './cpi-fuzz/inputs.ts';
import { inputMaker } from './cpi-fuzz/inputs.ts';
import { seededRandom } from './support/random.ts';

/** For any input on stdin there must be one valid envelope on stdout, no internal error and no secret. */
const seed = Number(process.env['BOSH_KUBERNETES_FUZZ_SEED'] ?? Date.now() % 2 ** 32);
const inputs = Number(process.env['BOSH_KUBERNETES_FUZZ_INPUTS'] ?? 8_000);
const processes = Number(process.env['BOSH_KUBERNETES_FUZZ_PROCESSES'] ?? 200);
const atOnce = 24;
const perWorld = 2_000;
/** Most of a process's time is spent waiting for the deadlines, which are one second each here. */
const processesAtOnce = 12;

class Tally {
  readonly kinds = new Map<string, number>();
  readonly outcomes = new Map<string, number>();
  pastEnvelope = 0;
  /** The changed valid requests among these. */
  mutationsPastEnvelope = 0;

  add({ kind }: Input, outcome: string): void {
    this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1);
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  get total(): number {
    return [...this.kinds.values()].reduce((sum, count) => sum + count, 0);
  }
}

/** Runs `work` in that many workers until it returns that nothing is left. */
async function inParallel(workers: number, work: () => Promise<boolean>): Promise<void> {
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (await work());
    }),
  );
}

async function shortDeadlines(): Promise<object> {
  const row = (await cpiSections()).get('Properties')?.rows.get('deadlines') ?? '';
  return Object.fromEntries([...row.matchAll(/([a-z_]+) \d+/gu)].map(([, name = '']) => [name, 1]));
}

/** Checks one response. A failure's message contains the input. */
function check(tally: Tally, input: Input, stdout: string): void {
  try {
    tally.add(input, checkEnvelope(stdout));
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    assert.fail(
      `seed ${seed}: ${cause}\nstdin: ${input.bytes.toString('utf8').slice(0, 2000)}\nstdout: ${stdout.slice(0, 2000)}`,
    );
  }
}

// Runs first, while this process is small, because the start of a child process copies its memory map.
test(`${processes} inputs to real processes`, async (t) => {
  const world = await CpiWorld.start();
  t.after(() => world.stop());
  const artefact = world.artefacts.get('executable') ?? world.artefacts.get('bundle');
  assert.ok(artefact !== undefined);
  const random = seededRandom(seed + 1);
  const make = await inputMaker();
  const tally = new Tally();
  let remaining = processes;
  const config = join(world.directory, 'hasty.json');
  await writeFile(config, JSON.stringify({ ...world.settings, deadlines: await shortDeadlines() }), {
    mode: 0o600,
  });
  await inParallel(processesAtOnce, async () => {
    if (remaining <= 0) return false;
    remaining -= 1;
    const input = make(random, { vms: [], disks: [] });
    const { stdout, stderr, code } = await runCpi(artefact, input.bytes, { config });
    assert.equal(code, 0, `seed ${seed}: ${input.bytes.toString('utf8').slice(0, 2000)}`);
    assertOneRecord(stderr);
    check(tally, input, stdout);
    return true;
  });
  t.diagnostic(`seed ${seed}: ${tally.total} processes of the ${artefact.name}`);
  t.diagnostic(`inputs ${JSON.stringify(Object.fromEntries(tally.kinds))}`);
  t.diagnostic(`outcomes ${JSON.stringify(Object.fromEntries(tally.outcomes))}`);
  assert.equal(tally.total, processes);
});

test(`${inputs} inputs in this process`, async (t) => {
  const random = seededRandom(seed);
  const make = await inputMaker();
  const tally = new Tally();
  while (tally.total < inputs) {
    let remaining = Math.min(perWorld, inputs - tally.total);
    await t.test(`from ${tally.total}`, async (part) => {
      const { ask, known } = await fuzzWorld(part);
      await inParallel(atOnce, async () => {
        if (remaining <= 0) return false;
        remaining -= 1;
        const input = make(random, known);
        const { stdout, isPastEnvelope } = await ask(input.bytes);
        if (isPastEnvelope) tally.pastEnvelope += 1;
        if (isPastEnvelope && input.isMutation) tally.mutationsPastEnvelope += 1;
        check(tally, input, stdout);
        return true;
      });
    });
    if (remaining > 0) return;
  }
  t.diagnostic(
    `seed ${seed}: ${tally.total} inputs, ${tally.pastEnvelope} past the envelope, ` +
      `${tally.mutationsPastEnvelope} of them mutations of valid requests`,
  );
  t.diagnostic(`inputs ${JSON.stringify(Object.fromEntries(tally.kinds))}`);
  t.diagnostic(`outcomes ${JSON.stringify(Object.fromEntries(tally.outcomes))}`);
  assert.equal(tally.total, inputs);
  assert.ok(
    tally.mutationsPastEnvelope * 2 >= tally.total,
    'less than half were mutations that got past the envelope',
  );
});
