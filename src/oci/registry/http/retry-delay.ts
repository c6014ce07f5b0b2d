/** The reason why one try of a request failed. */
export type Setback =
  | { readonly status: number; readonly retryAfter: string | undefined }
  | { readonly broke: true };

export interface Chance {
  readonly setback: Setback;
  /** The number of tries so far: 1 after the first try. */
  readonly tries: number;
  /** Milliseconds since the epoch: a Retry-After may be a date. */
  readonly now: number;
  /** In [0, 1); spreads the retries of several clients. */
  readonly random: number;
}

export const maximumTries = 6;
const longestPauseMs = 60_000;
const firstPauseMs = 200;
const passing: readonly number[] = [408, 429, 500, 502, 503, 504];

/** Returns whether a status is transient: the next try may have another one. */
export const isPassing = (status: number): boolean => passing.includes(status);

/**
 * Returns the milliseconds until the next try; undefined if there must be none: the response is final, the
 * tries are used up, or the registry's Retry-After is longer than a minute.
 */
export function retryDelay({ setback, tries, now, random }: Chance): number | undefined {
  if (tries >= maximumTries) return undefined;
  const pause = firstPauseMs * 2 ** (tries - 1) * (1 + random / 2);
  if ('broke' in setback) return pause;
  if (!isPassing(setback.status)) return undefined;
  const asked = parseRetryAfter(setback.retryAfter, now) ?? 0;
  return asked > longestPauseMs ? undefined : Math.max(pause, asked);
}

/** Parses seconds or a date (RFC 9110, 10.2.3). Returns milliseconds from now. */
function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/u.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
