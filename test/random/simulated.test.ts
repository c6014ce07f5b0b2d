import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { loadVerbs } from './simulated/load-verbs.ts';
import { plans } from './simulated/plan.ts';
import type { Outcome } from './simulated/random-run.ts';
import { randomRun } from './simulated/random-run.ts';

const seconds = Number(process.env['BOSH_KUBERNETES_RANDOM_SECONDS'] ?? 60);
/** `SEED` or, of one run alone, `SEED:PATH`. */
const given = process.env['BOSH_KUBERNETES_RANDOM_SEED'];

test('random calls that meet, kills, deletions by others and lost nodes, simulated', async (t) => {
  await loadVerbs();
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-random-'));
  t.after(() => rm(directory, { recursive: true }));
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const tokenKey = { privateKey, publicKey, genuine: new Map<string, never>() };
  const [seed = String(Date.now() % 2 ** 31), ...path] = given?.split('/') ?? [];
  let [runs, calls] = [0, 0];
  let last: Outcome | undefined;
  const property = fc.asyncProperty(plans, fc.scheduler(), async (plan, scheduler) => {
    runs += 1;
    const journal = join(directory, `journal-${runs}`);
    const outcome = await randomRun(plan, scheduler, { journal, tokenKey });
    await rm(journal);
    calls += outcome.calls;
    if (outcome.violations.length === 0) return;
    last = outcome;
    assert.fail(outcome.violations.join('\n'));
  });
  const result = await fc.check(property, {
    ...{ seed: Number(seed), numRuns: 1_000_000, endOnFailure: false },
    ...(path.length > 0 && { path: path.join(':') }),
    ...{ interruptAfterTimeLimit: seconds * 1000, markInterruptAsFailure: false },
  });
  t.diagnostic(`${runs} runs, ${calls} calls, seed ${seed}`);
  if (!result.failed) return;
  const [plan] = result.counterexample ?? [];
  const repeat = `BOSH_KUBERNETES_RANDOM_SEED=${seed}/${result.counterexamplePath ?? ''}`;
  assert.fail([JSON.stringify(plan, undefined, 1), ...(last?.trace ?? []), String(result.errorInstance), repeat].join('\n'));
});
