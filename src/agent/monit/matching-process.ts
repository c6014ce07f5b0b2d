import type { ProcessTable } from '../process/process-table.ts';
import type { KnownProcess, PidFileResult } from './pid-file.ts';

/**
 * Finds the process of a `matching` check. Of the processes whose command line matches, returns the known
 * one, otherwise one with a launch mark of the service, otherwise the first. Any user can start a matching
 * process, so the agent signals it only if it has the launch mark.
 */
export async function findByCommandLine(
  pattern: string,
  table: ProcessTable,
  { known, marks = [] }: KnownProcess,
): Promise<PidFileResult> {
  const found = await Promise.all((await table.matching(new RegExp(pattern))).map((pid) => table.find(pid)));
  const living = found.filter((one) => one !== undefined);
  const live =
    living.find((one) => one.pid === known?.pid && one.startTicks === known.startTicks) ??
    living.find(({ mark }) => mark !== undefined && marks.includes(mark)) ??
    living[0];
  return live === undefined ? { problem: `no process matches '${pattern}'` } : { live };
}
