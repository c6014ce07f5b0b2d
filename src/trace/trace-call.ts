import {
  type CpiPhase,
  type CpiRequestCounts,
  cpiPhaseKinds,
  cpiRecordKey,
  cpiRecordVersion,
} from '../bosh/cpi-record.ts';
import { Field } from '../platform/field.ts';

/** One CPI call of a log. Times are milliseconds; phases are in order, in the call and apart. */
export interface TraceCall {
  readonly method: string;
  readonly cids: readonly string[];
  readonly requestId: string | undefined;
  /** Since the epoch. */
  readonly start: number;
  readonly ms: number;
  readonly requests: CpiRequestCounts;
  readonly phases: readonly Required<CpiPhase>[];
  /** `ok`, the type of the error, or the signal that ended the call. */
  readonly result: string;
  readonly message: string | undefined;
}

const earliest = Date.parse('2000-01-01T00:00:00Z');
const latest = Date.parse('2200-01-01T00:00:00Z');
/** No deadline of the CPI is longer. */
const longestMs = 7 * 24 * 3600 * 1000;
const count = { min: 0, max: 1_000_000_000 };

/**
 * Parses one record. Returns undefined if the text is no record that this version can read: damaged, of
 * another version, or with times that no call has. A call that ends before it starts lasted 0 ms: the clock
 * of its machine was set.
 */
export function parseTraceCall(text: string): TraceCall | undefined {
  try {
    return readCall(new Field(JSON.parse(text), '', unreadable));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof UnreadableRecord) return undefined;
    throw error;
  }
}

class UnreadableRecord extends Error {}

const unreadable = (path: string, problem: string): UnreadableRecord =>
  new UnreadableRecord(`${path} ${problem}`);

function readCall(record: Field): TraceCall {
  const version = record.get(cpiRecordKey);
  if (version.value !== cpiRecordVersion) throw version.error('is not a known version');
  const start = readTime(record.get('start'));
  const ms = Math.max(0, readTime(record.get('end')) - start);
  if (ms > longestMs) throw record.get('end').error('is too late');
  const requests = record.get('requests');
  return {
    method: record.get('method').string(),
    cids: record.get('cids').strings(),
    requestId: record.get('request_id').optional()?.string(),
    start,
    ms,
    requests: {
      reads: requests.get('reads').integer(count),
      writes: requests.get('writes').integer(count),
      execs: requests.get('execs').integer(count),
    },
    phases: inOrder(record.get('phases').list().map(readPhase), ms),
    result: record.get('result').nonEmptyString(),
    message: record.get('message').optional()?.string(),
  };
}

function readTime(field: Field): number {
  const time = Date.parse(field.string());
  if (time >= earliest && time <= latest) return time;
  throw field.error('is not a time');
}

const readPhase = (phase: Field): Required<CpiPhase> => ({
  kind: phase.get('kind').oneOf(cpiPhaseKinds),
  at: phase.get('at').integer(count),
  ms: phase.get('ms').integer(count),
  of: phase.get('of').string(),
  n: phase.get('n').optional()?.integer(count) ?? 1,
});

/** Cuts the phases so that they do not overlap and end with the call. */
function inOrder(phases: readonly Required<CpiPhase>[], total: number): Required<CpiPhase>[] {
  let last = 0;
  return phases
    .toSorted((one, other) => one.at - other.at)
    .map((phase) => {
      const at = Math.min(Math.max(phase.at, last), total);
      last = Math.max(at, Math.min(phase.at + phase.ms, total));
      return { ...phase, at, ms: last - at };
    });
}
