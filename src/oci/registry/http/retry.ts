import { ProductError } from '../../../errors/product-error.ts';
import {
  type RegistryAnswer,
  type RegistryRequest,
  type RegistryTransport,
  ConnectionFailure,
} from './registry-transport.ts';

export interface RetryOptions {
  readonly transport: RegistryTransport;
  readonly now: () => number;
  /** Resolves after the milliseconds, or at once when the caller's signal aborts. */
  readonly sleep: (milliseconds: number) => Promise<void>;
  /** In [0, 1). */
  readonly random: () => number;
}

/** The reason why one try of a request failed. */
export type RetryReason =
  | { readonly status: number; readonly retryAfter: string | undefined }
  | { readonly broke: true };

export interface RetryAttempt {
  readonly reason: RetryReason;
  /** The number of tries so far: 1 after the first try. */
  readonly tries: number;
  /** Milliseconds since the epoch: a Retry-After may be a date. */
  readonly now: number;
  /** In [0, 1); spreads the retries of several clients. */
  readonly random: number;
}

export const maximumTries = 6;
const maxDelayMs = 60_000;
const firstDelayMs = 200;
const transientStatuses: readonly number[] = [408, 429, 500, 502, 503, 504];

/** Sends requests to one server and decides which of them are sent again, and when. */
export class RetryPolicy {
  readonly #options: RetryOptions;

  constructor(options: RetryOptions) {
    this.#options = options;
  }

  /**
   * Sends a request that may be sent twice, until its response is final (`retryDelay`). Returns the last
   * response, whatever its status. Rejects with REGISTRY_UNREACHABLE, naming the subject, if no response
   * arrives.
   */
  async send(request: RegistryRequest, subject: string): Promise<RegistryAnswer> {
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.sendOnce(request);
      const isFinal = outcome instanceof ConnectionFailure && outcome.isFinal;
      if (!isFinal && (await this.waitForRetry(retryReason(outcome), tries))) continue;
      if (outcome instanceof ConnectionFailure) throw unreachableError(subject, outcome, tries);
      return outcome;
    }
  }

  /** Sends the request once. A broken connection is returned, not thrown. */
  async sendOnce(request: RegistryRequest): Promise<RegistryAnswer | ConnectionFailure> {
    try {
      return await this.#options.transport.send(request);
    } catch (error) {
      if (error instanceof ConnectionFailure) return error;
      throw error;
    }
  }

  /** Waits until the next try. Returns false, without a wait, if there must be none. */
  async waitForRetry(reason: RetryReason, tries: number): Promise<boolean> {
    const { now, random, sleep } = this.#options;
    const delay = retryDelay({ reason, tries, now: now(), random: random() });
    if (delay === undefined) return false;
    await sleep(delay);
    return true;
  }

  close(): void {
    this.#options.transport.close();
  }
}

/** Returns the reason for a retry from a try that did not succeed. */
export function retryReason(outcome: RegistryAnswer | ConnectionFailure): RetryReason {
  return outcome instanceof ConnectionFailure
    ? { broke: true }
    : { status: outcome.status, retryAfter: outcome.headers['retry-after'] };
}

/** Returns the error for a server that did not respond. */
export function unreachableError(subject: string, failure: ConnectionFailure, tries: number): ProductError {
  const often = tries > 1 ? ` (${tries} tries)` : '';
  return new ProductError(
    'REGISTRY_UNREACHABLE',
    `${subject} could not be reached: ${failure.message}${often}`,
    { cause: failure.cause },
  );
}

/** Returns true if the next try may have another status. */
export const isTransient = (status: number): boolean => transientStatuses.includes(status);

/**
 * Returns the milliseconds until the next try; undefined if there must be none: the response is final, the
 * tries are used up, or the registry's Retry-After is longer than a minute. Pure.
 */
export function retryDelay({ reason, tries, now, random }: RetryAttempt): number | undefined {
  if (tries >= maximumTries) return undefined;
  const delay = firstDelayMs * 2 ** (tries - 1) * (1 + random / 2);
  if ('broke' in reason) return delay;
  if (!isTransient(reason.status)) return undefined;
  const requested = parseRetryAfter(reason.retryAfter, now) ?? 0;
  return requested > maxDelayMs ? undefined : Math.max(delay, requested);
}

/** Parses seconds or a date (RFC 9110, 10.2.3). Returns milliseconds from now. */
function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/u.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
