import { batchesOf } from './batches.ts';
import type { TestResult } from './report.ts';
import type { Suite } from './suite.ts';

/**
 * Runs these tests in as many processes at a time, then those that have to be alone. With `again`, what failed gets a second run,
 * alone on the machine: the deadlines of these tests are their authors', not ours. What passes then is named.
 */
export async function runTests(
  suite: Suite,
  names: readonly string[],
  { processes, again: twice }: { readonly processes: number; readonly again: boolean },
): Promise<TestResult[]> {
  const { together, alone } = batchesOf(names);
  const waiting = together.values();
  const results: TestResult[] = [];
  const work = async (): Promise<void> => {
    for (const batch of waiting) results.push(...(await suite.run(batch)));
  };
  // nobody goes on while what they work on is removed
  const ends = await Promise.allSettled(Array.from({ length: processes }, work));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  if (alone.length > 0) results.push(...(await suite.run(alone)));
  const passed = new Set(results.filter(({ state }) => state === 'passed').map(({ name }) => name));
  const failed = names.filter((name) => !passed.has(name));
  if (failed.length === 0 || !twice) return results;
  const again = await suite.run(failed);
  for (const { name, state } of again) if (state === 'passed') console.log(`FLAKY: ${name}`);
  return [...results.filter(({ name }) => passed.has(name)), ...again];
}
