/** The first key of each record. Its value is the version of the format. */
export const cpiRecordKey = 'bosh_kubernetes_cpi';

export const cpiRecordVersion = 1;

/** Begins each record, so that it is found in a log of other lines. */
export const cpiRecordStart = `{"${cpiRecordKey}":`;

/**
 * The maximum length of a record in bytes, with its line end. A pipe takes a write of this length as a whole
 * (PIPE_BUF of Linux), so the records of calls that run at the same time do not mix.
 */
export const maxCpiRecordBytes = 4096;

/** What a CPI call spent its time with, in the order of the legend of a trace. */
export const cpiPhaseKinds = [
  'read',
  'write',
  'exec',
  'schedule',
  'mount',
  'pull',
  'start',
  'delete',
  'wait',
] as const;

export type CpiPhaseKind = (typeof cpiPhaseKinds)[number];

export interface CpiPhase {
  readonly kind: CpiPhaseKind;
  /** Milliseconds from the start of the call. */
  readonly at: number;
  readonly ms: number;
  /** The resource, with the name of the object if there is one: `pods vm-1`. */
  readonly of: string;
  /** The number of requests; absent: one. */
  readonly n?: number;
}

/** The requests of a call without retries, as docs/cpi/internals.md counts them. */
export interface CpiRequestCounts {
  readonly reads: number;
  readonly writes: number;
  readonly execs: number;
}

/** What the CPI writes to stderr at the end of each call, as one line of JSON. */
export interface CpiRecord {
  readonly [cpiRecordKey]: typeof cpiRecordVersion;
  /** An empty text if the request could not be read. */
  readonly method: string;
  readonly cids: readonly string[];
  readonly request_id?: string | undefined;
  /** Both in the form of `Date.toISOString`. */
  readonly start: string;
  readonly end: string;
  readonly requests: CpiRequestCounts;
  readonly phases: readonly CpiPhase[];
  /** `ok`, the type of the error, or the signal that ended the call. */
  readonly result: string;
  /** The beginning of the error's message, without secrets. */
  readonly message?: string | undefined;
}
