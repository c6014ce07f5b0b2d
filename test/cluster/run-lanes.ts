import { addFailedFiles } from './failed-files.ts';
import { none, runTests, sumOf, type TestCounts, type TestRun } from './run-tests.ts';
import type { Lane } from './suites.ts';

/** Clusters that lanes run on. */
export interface LaneClusters {
  /** Of the first and of those that come after it. */
  readonly names: readonly string[];
  /** Brings one up, and resolves with what runs a command there. */
  readonly open: (name: string) => Promise<TestRun['run']>;
  /** When the last test on one has ended. */
  readonly close: (name: string) => Promise<void>;
}

/**
 * Runs lanes, each on the cluster of its number, and resolves with what came of all. Where one could not run to its end, as
 * its cluster does not come up, the others do, and it counts as a failure in each of its files.
 */
export async function runLanes(lanes: readonly Lane[], clusters: LaneClusters): Promise<TestCounts> {
  const isBeside = lanes.length > 1;
  const numbers = [...new Set(lanes.map(({ cluster }) => cluster))];
  const counts = await Promise.all(
    numbers.map(async (number, index) => {
      const own = lanes.filter(({ cluster }) => cluster === number);
      const name = clusters.names[index] ?? '';
      try {
        const run = await clusters.open(name);
        const each = await Promise.allSettled(own.map(({ groups }) => runTests(groups, { run, isBeside })));
        await clusters.close(name);
        return each.map((one) => {
          if (one.status === 'rejected') throw one.reason;
          return one.value;
        });
      } catch (error) {
        return [
          await failedAs(own, `cluster ${name}: ${error instanceof Error ? error.message : String(error)}`),
        ];
      }
    }),
  );
  return counts.flat().reduce(sumOf, none);
}

async function failedAs(lanes: readonly Lane[], cause: string): Promise<TestCounts> {
  const files = lanes.flatMap(({ groups }) => groups.flatMap((group) => group.files));
  console.error(`${cause}; failed with it: ${files.join(', ')}`);
  await addFailedFiles(files);
  return { ...none, failed: files.length };
}
