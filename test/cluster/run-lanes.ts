import { addFailedFiles, none, runTests, sumOf, type TestCounts, type TestRun } from './run-tests.ts';
import type { ParallelGroup } from './suites.ts';

/** The clusters that lanes run on. */
interface LaneClusters {
  /** The names of the first cluster and of the following ones. */
  readonly names: readonly string[];
  /** Starts a cluster and returns the function that runs a command there. */
  readonly open: (name: string) => Promise<TestRun['run']>;
  /** Called when the last test on a cluster has ended. */
  readonly close: (name: string) => Promise<void>;
}

/**
 * Runs each lane on the cluster with its number. Returns the sum of the results. If a lane cannot finish, for
 * example because its cluster does not start, the other lanes still run, and this counts as a failure in each
 * file of that lane.
 */
export async function runLanes(lanes: readonly ParallelGroup[], clusters: LaneClusters): Promise<TestCounts> {
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

async function failedAs(lanes: readonly ParallelGroup[], cause: string): Promise<TestCounts> {
  const files = lanes.flatMap(({ groups }) => groups.flatMap((group) => group.files));
  console.error(`${cause}; failed with it: ${files.join(', ')}`);
  await addFailedFiles(files);
  return { ...none, failed: files.length };
}
