import {
  type CpiPhase,
  type CpiRecord,
  type CpiRequestCounts,
  cpiRecordKey,
  cpiRecordVersion,
  maxCpiRecordBytes,
} from '../../bosh/cpi-record.ts';
import type { CpiRequest } from './protocol.ts';

/** The requests of the call and their times (record/observed-call.ts). */
interface Observation {
  readonly requests: CpiRequestCounts;
  /** Returns the phases until now. */
  phases(): readonly CpiPhase[];
}

/** A time in milliseconds since the epoch that never goes back, and the time when the process started. */
export interface CallTime {
  readonly startedAt: number;
  readonly now: () => number;
}

export const processTime: CallTime = {
  startedAt: performance.timeOrigin,
  now: () => performance.timeOrigin + performance.now(),
};

/** Collects what the record of one call tells. It keeps no argument but the cids. */
export class CallRecorder {
  readonly time: CallTime;
  /** The cids that the call has read or returned so far. */
  cids: readonly string[] = [];
  observation: Observation | undefined;
  #method = '';
  #requestId: string | undefined;

  constructor(time: CallTime = processTime) {
    this.time = time;
  }

  setRequest({ method, context }: CpiRequest): void {
    const id = context['request_id'];
    this.#method = method.slice(0, 100);
    this.#requestId = typeof id === 'string' && /^[\w.-]{1,64}$/u.test(id) ? id : undefined;
  }

  /**
   * Returns the record as a line of at most `maxCpiRecordBytes`. `result` is `ok`, the type of the error, or
   * the signal that ends the call; `message` is the beginning of the error's message, without secrets.
   */
  line(result: string, message?: string): string {
    const end = this.time.now();
    return fittingLine({
      [cpiRecordKey]: cpiRecordVersion,
      method: this.#method,
      cids: fewCids(this.cids),
      request_id: this.#requestId,
      start: new Date(this.time.startedAt).toISOString(),
      end: new Date(end).toISOString(),
      requests: this.observation?.requests ?? { reads: 0, writes: 0, execs: 0 },
      phases: fewPhases(this.observation?.phases() ?? []),
      result,
      message,
    });
  }
}

const maxCids = 8;

/** Keeps the last cid, which is that of the result: the arguments of create_vm may have many disks. */
const fewCids = (cids: readonly string[]): readonly string[] =>
  cids.length <= maxCids ? cids : [...cids.slice(0, maxCids - 1), ...cids.slice(-1)];

const maxPhases = 40;
/** Longer than a resource and most names of objects. */
const maxTextOfPhase = 120;

const fewPhases = (phases: readonly CpiPhase[]): readonly CpiPhase[] => {
  let few: readonly CpiPhase[] = phases.map((phase) => ({ ...phase, of: phase.of.slice(0, maxTextOfPhase) }));
  while (few.length > maxPhases) few = mergeShortest(few);
  return few;
};

function fittingLine(record: CpiRecord): string {
  const line = `${JSON.stringify(record)}\n`;
  // no character has more than three bytes for each unit of UTF-16
  const fits =
    line.length * 3 <= maxCpiRecordBytes || new TextEncoder().encode(line).length <= maxCpiRecordBytes;
  return fits ? line : fittingLine(shorten(record));
}

/** The shortest record, without cids and message, always fits. */
function shorten(record: CpiRecord): CpiRecord {
  const { phases, cids } = record;
  if (phases.length > 1) return { ...record, phases: mergeShortest(phases) };
  if (cids.length > 0) return { ...record, cids: cids.toSpliced(-2, 1) };
  return { ...record, message: undefined };
}

/** Merges the two neighbours that are shortest together. The kind is that of the longer one. */
function mergeShortest(phases: readonly CpiPhase[]): readonly CpiPhase[] {
  let shortest = 0;
  let least = Infinity;
  for (let index = 0; index + 1 < phases.length; index += 1) {
    const both = (phases[index]?.ms ?? 0) + (phases[index + 1]?.ms ?? 0);
    if (both < least) [shortest, least] = [index, both];
  }
  const [one, other] = [phases[shortest], phases[shortest + 1]];
  if (one === undefined || other === undefined) return phases;
  const { kind, of } = one.ms < other.ms ? other : one;
  const n = (one.n ?? 1) + (other.n ?? 1);
  const merged: CpiPhase = { kind, at: one.at, ms: other.at + other.ms - one.at, of, n };
  return [...phases.slice(0, shortest), merged, ...phases.slice(shortest + 2)];
}
