import type { ProcessTable } from '../process/process-table.ts';
import type { KnownProcess, PidFileResult } from './pid-file.ts';

/**
 * The process that a `matching` means: of those whose command line matches the one known from before, else
 * one that the start program began, else the first. Any user can begin such a process, so the agent signals
 * it only where it bears the mark.
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
