// npm run test:model: searches the states of the models of the disk protocol with spin. `--all` also runs the
// checks that are too large for CI; other arguments choose checks by a part of their model's path or of their
// property.
import { spawnSync } from 'node:child_process';
import { basename, join } from 'node:path';
import type { Check } from './checks.ts';
import { notModelled, readChecks } from './checks.ts';
import type { Limits, Outcome } from './run-check.ts';
import { runCheck } from './run-check.ts';

const root = join(import.meta.dirname, '../..');
/** Two searches run at once, so that a machine with 4 GiB of memory can run what CI runs. */
const limitsInCi: Limits = { memoryMiB: 1900, seconds: 300 };
const limitsOfAll: Limits = { memoryMiB: 9000, seconds: 3600 };

const args = process.argv.slice(2);
const isAll = args.includes('--all');
const parts = args.filter((argument) => argument !== '--all');
const chosen = readChecks(root).filter(
  ({ model, property, runs }) =>
    (isAll || runs === 'in CI') &&
    (parts.length === 0 || parts.some((part) => model.includes(part) || property.includes(part))),
);
const missing = ['spin', 'gcc'].filter((program) => spawnSync(program, ['--version']).error !== undefined);
if (missing.length > 0) {
  console.log(`SKIPPED: ${missing.join(' and ')} not found; install the Debian packages spin and gcc`);
  console.log(`0 passed, 0 failed, ${chosen.length} skipped`);
} else if (chosen.length === 0) {
  console.error(`no check has ${parts.join(' or ')} in its model's path or its property`);
  process.exitCode = 1;
} else {
  process.exitCode = (await runAll(chosen)) ? 0 : 1;
}

async function runAll(all: readonly Check[]): Promise<boolean> {
  const waiting = [...all];
  let failed = 0;
  console.log(row(['model', 'states', 'seconds', 'result', 'property and bounds']));
  const work = async (): Promise<void> => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      const outcome = await runCheck(root, check, check.runs === 'in CI' ? limitsInCi : limitsOfAll);
      if (outcome.kind !== check.expected) failed += 1;
      print(check, outcome);
    }
  };
  await Promise.all([work(), work()]);
  for (const part of notModelled) console.log(row(['-', '-', '-', 'not modelled', part]));
  console.log(`${all.length - failed} passed, ${failed} failed, 0 skipped`);
  return failed === 0;
}

function print({ model, property, flags, expected }: Check, outcome: Outcome): void {
  const { kind, states, seconds, lines } = outcome;
  const result = kind === expected ? kind : kind.toUpperCase();
  const described = `${property} (${flags})`;
  console.log(row([basename(model), String(states), seconds.toFixed(1), result, described]));
  if (kind === expected) return;
  if (kind === 'holds')
    console.log('  spin found no counterexample, though a flag takes a remedy out of the model');
  for (const line of lines) console.log(`  ${line}`);
}

function row([model = '', states = '', seconds = '', result = '', property = '']: readonly string[]): string {
  return `${model.padEnd(15)} ${states.padStart(11)} ${seconds.padStart(8)}  ${result.padEnd(14)}  ${property}`;
}
