import { ProductError } from '../../../errors/product-error.ts';
import {
  type RegistryAnswer,
  type RegistryRequest,
  type RegistryTransport,
  ConnectionFailure,
} from './registry-transport.ts';

/** Everything that retries need. */
export interface Patience {
  readonly transport: RegistryTransport;
  readonly now: () => number;
  /** Resolves after the milliseconds, or at once when the caller's signal aborts. */
  readonly sleep: (milliseconds: number) => Promise<void>;
  /** In [0, 1). */
  readonly random: () => number;
}

/**
 * Sends a request that may be sent twice, until its response is final (http/retry-delay.ts). Returns the last
 * response, whatever its status. Rejects with REGISTRY_UNREACHABLE, naming `what`, if no response arrives.
 */
export async function retryWhilePassing(
  patience: Patience,
  request: RegistryRequest,
  what: string,
): Promise<RegistryAnswer> {
  for (let tries = 1; ; tries += 1) {
    const outcome = await attempt(patience.transport, request);
    const delay = outcome instanceof ConnectionFailure && outcome.isFinal ? undefined : wait(outcome, tries);
    if (delay !== undefined) await patience.sleep(delay);
    else if (outcome instanceof ConnectionFailure) throw unreachable(what, outcome, tries);
    else return outcome;
  }

  function wait(outcome: RegistryAnswer | ConnectionFailure, tries: number): number | undefined {
    return retryDelay({ setback: setbackOf(outcome), tries, now: patience.now(), random: patience.random() });
  }
}

/** Sends the request once. A broken connection is returned, not thrown. */
export async function attempt(
  transport: RegistryTransport,
  request: RegistryRequest,
): Promise<RegistryAnswer | ConnectionFailure> {
  try {
    return await transport.send(request);
  } catch (error) {
    if (error instanceof ConnectionFailure) return error;
    throw error;
  }
}

/** Returns the reason for a retry from a try that did not succeed. */
export function setbackOf(outcome: RegistryAnswer | ConnectionFailure): Setback {
  return outcome instanceof ConnectionFailure
    ? { broke: true }
    : { status: outcome.status, retryAfter: outcome.headers['retry-after'] };
}

/** Returns the error for a server that did not respond. */
export function unreachable(what: string, failure: ConnectionFailure, tries: number): ProductError {
  const often = tries > 1 ? ` (${tries} tries)` : '';
  return new ProductError(
    'REGISTRY_UNREACHABLE',
    `${what} could not be reached: ${failure.message}${often}`,
    {
      cause: failure.cause,
    },
  );
}

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
