import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { loadVerbs } from './load-verbs.ts';
import type { Plan, PlannedStep } from './plan.ts';
import { plans } from './plan.ts';
import type { Outcome, RunOptions } from './random-run.ts';
import { randomRun } from './random-run.ts';

export interface Search {
  /** `SEED`, or `SEED/PATH` for one run of that seed. */
  readonly seed: string;
  readonly seconds: number;
  /** For how long a failing run is shrunk. */
  readonly shrinkSeconds: number;
  readonly instead?: RunOptions['instead'];
}

export interface Found {
  readonly runs: number;
  readonly calls: number;
  /** A description of the smallest failing run; undefined: no run failed. */
  readonly failure: string | undefined;
}

/**
 * Makes one run after the other until the time is over or one fails. A failing run is then shrunk as far as
 * the time allows.
 */
export async function findFailure({ seed, seconds, shrinkSeconds, instead = {} }: Search): Promise<Found> {
  const runner = await startRunner(instead);
  const [number = '', path] = seed.split('/');
  const options = { seed: Number(number), numRuns: 1_000_000, markInterruptAsFailure: false };
  try {
    const first = await fc.check(runner.property, {
      ...{ ...options, endOnFailure: true, interruptAfterTimeLimit: seconds * 1000 },
      ...(path !== undefined && { path }),
    });
    const { runs, calls } = runner;
    if (!first.failed) return { runs, calls, failure: undefined };
    const replay = { path: first.counterexamplePath ?? '', interruptAfterTimeLimit: shrinkSeconds * 1000 };
    const small = await fc.check(runner.property, { ...options, ...replay });
    const { counterexample, counterexamplePath } = small.counterexample === null ? first : small;
    const args = [
      ...(counterexample === null ? [] : describePlan(counterexample[0])),
      ...(runner.failed?.trace.filter((line) => !noise.test(line)) ?? [String(first.errorInstance)]),
      ...(runner.failed?.violations ?? []),
      `to repeat this run: BOSH_KUBERNETES_RANDOM_SEED=${number}/${counterexamplePath ?? ''}`,
      `to find it again: BOSH_KUBERNETES_RANDOM_SEED=${number}/${first.counterexamplePath ?? ''}`,
    ];
    return { runs, calls, failure: args.join('\n') };
  } finally {
    await runner.stop();
  }
}

/** Returns the traces of some runs, each done twice. */
export async function tracesOfTwice(seed: number, count: number): Promise<readonly [string, string][]> {
  const runner = await startRunner({});
  const traces: [string, string][] = [];
  const twice = fc.tuple(plans, fc.integer()).map(([plan, order]) => ({ plan, order }));
  for (const { plan, order } of fc.sample(twice, { seed, numRuns: count })) {
    const run = async (): Promise<string> => {
      const [scheduler] = fc.sample(fc.scheduler(), { seed: order, numRuns: 1 });
      return scheduler === undefined ? '' : (await runner.run(plan, scheduler)).trace.join('\n');
    };
    traces.push([await run(), await run()]);
  }
  await runner.stop();
  return traces;
}

interface Runner {
  readonly property: fc.IAsyncProperty<[Plan, fc.Scheduler]>;
  readonly run: (plan: Plan, scheduler: fc.Scheduler) => Promise<Outcome>;
  readonly runs: number;
  readonly calls: number;
  /** The last run that failed: during shrinking, the smallest. */
  readonly failed: Outcome | undefined;
  stop(): Promise<void>;
}

async function startRunner(instead: NonNullable<RunOptions['instead']>): Promise<Runner> {
  await loadVerbs();
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-random-'));
  const tokenKey = {
    ...generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    verifiedTokens: new Map<string, never>(),
  };
  const state: { runs: number; calls: number; failed: Outcome | undefined } = {
    ...{ runs: 0, calls: 0, failed: undefined },
  };
  const run = async (plan: Plan, scheduler: fc.Scheduler): Promise<Outcome> => {
    const journal = join(directory, 'journal');
    try {
      const outcome = await randomRun(plan, scheduler, { journal, tokenKey, instead });
      state.runs += 1;
      state.calls += outcome.calls;
      return outcome;
    } finally {
      await rm(journal);
    }
  };
  const property = fc.asyncProperty(plans, fc.scheduler(), async (plan, scheduler) => {
    const outcome = await run(plan, scheduler);
    if (outcome.violations.length === 0) return;
    state.failed = outcome;
    throw new Error(outcome.violations.join('\n'));
  });
  return {
    ...{ property, run },
    get runs() {
      return state.runs;
    },
    get calls() {
      return state.calls;
    },
    get failed() {
      return state.failed;
    },
    stop: () => rm(directory, { recursive: true }),
  };
}

/** Lines that a reader of a trace does not need. */
const noise = /^time passes|: list events|: get nodes/u;

function describePlan({ callers, ...world }: Plan): string[] {
  const describe = (step: PlannedStep): string => {
    if ('fault' in step) return `${step.fault} (vm ${step.vm}, disk ${step.disk})`;
    const { verb, vm, disk, fate, stoppedFor, isPolite } = step;
    const { counts = '', killedAfter, stoppedBefore } = fate;
    const end = killedAfter === undefined ? '' : `, killed after ${killedAfter} ${counts}`;
    const pause = `, stopped before number ${stoppedBefore ?? ''} of its ${counts} for ${stoppedFor} calls`;
    const rudely = verb === 'detach_disk' && !isPolite ? ', in use' : '';
    return `${verb} (vm ${vm}, disk ${disk})${rudely}${end}${stoppedBefore === undefined ? '' : pause}`;
  };
  const lines = callers.flatMap((steps, caller) =>
    steps.map((step, index) => `caller ${caller}.${index}: ${describe(step)}`),
  );
  return [JSON.stringify(world), ...lines, ''];
}
