import { cpiRecordStart, maxCpiRecordBytes } from '../bosh/cpi-record.ts';
import { parseTraceCall, type TraceCall } from './trace-call.ts';

/** What a log tells about CPI calls. */
export interface LoggedCalls {
  /** In the order of their starts. */
  readonly calls: readonly TraceCall[];
  /** The number of records that are damaged or of another version. */
  readonly unreadable: number;
  /** The number of older calls that are left out, because the log has more than `maxCalls`. */
  readonly leftOut: number;
}

/** A page with more bars is of no use, and slow in a browser. */
export const maxCalls = 2000;

/**
 * Reads the records of CPI calls in a log and ignores everything else. A record may begin within a line, as
 * in the director's debug log, and ends with the line. It keeps at most `maxCalls` calls, those that were
 * logged last, and little more of a line than a record has, however long the log and its lines are.
 */
export async function readCalls(log: AsyncIterable<string>): Promise<LoggedCalls> {
  let calls: TraceCall[] = [];
  let unreadable = 0;
  let leftOut = 0;
  const readLine = (line: string): void => {
    const at = line.lastIndexOf(cpiRecordStart);
    if (at < 0) return;
    const text = line.slice(at);
    const call = text.length > maxCpiRecordBytes ? undefined : parseTraceCall(text);
    if (call === undefined) unreadable += 1;
    else calls.push(call);
    if (calls.length < 2 * maxCalls) return;
    leftOut += calls.length - maxCalls;
    calls = calls.slice(-maxCalls);
  };
  let rest = '';
  for await (const chunk of log) {
    const lines = (rest + chunk).split('\n');
    rest = beginningOfRecord(lines.pop() ?? '');
    for (const line of lines) readLine(line);
  }
  readLine(rest);
  leftOut += Math.max(0, calls.length - maxCalls);
  return {
    calls: calls.slice(-maxCalls).toSorted((one, other) => one.start - other.start),
    unreadable,
    leftOut,
  };
}

/** Drops of an unfinished line what is before the last record and cannot be one. */
function beginningOfRecord(line: string): string {
  if (line.length <= 2 * maxCpiRecordBytes) return line;
  const at = line.lastIndexOf(cpiRecordStart);
  const kept = at < 0 ? '' : line.slice(at, at + maxCpiRecordBytes + 1);
  // the start of a record may be cut at the end of the chunk
  return at < 0 ? line.slice(-cpiRecordStart.length) : kept;
}
