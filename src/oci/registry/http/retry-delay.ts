/** How one try of a request ended without a result. */
export type Setback =
  | { readonly status: number; readonly retryAfter: string | undefined }
  | { readonly broke: true };

export interface Chance {
  readonly setback: Setback;
  /** 1 after the first try. */
  readonly tries: number;
  /** Milliseconds since the epoch: a Retry-After may be a date. */
  readonly now: number;
  /** In [0, 1); spreads callers out. */
  readonly random: number;
}

export const maximumTries = 6;
const longestPauseMs = 60_000;
const firstPauseMs = 200;
const passing: readonly number[] = [408, 429, 500, 502, 503, 504];

/** Whether a status may be another one next time. */
export const isPassing = (status: number): boolean => passing.includes(status);

/**
 * Milliseconds until the next try, or undefined when there is to be none: the answer is final, the tries are used up, or
 * the registry asks for more than a minute of patience.
 */
export function retryDelay({ setback, tries, now, random }: Chance): number | undefined {
  if (tries >= maximumTries) return undefined;
  const pause = firstPauseMs * 2 ** (tries - 1) * (1 + random / 2);
  if ('broke' in setback) return pause;
  if (!isPassing(setback.status)) return undefined;
  const asked = parseRetryAfter(setback.retryAfter, now) ?? 0;
  return asked > longestPauseMs ? undefined : Math.max(pause, asked);
}

/** Seconds or a date (RFC 9110, 10.2.3), in milliseconds from now. */
function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/u.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
