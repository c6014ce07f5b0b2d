import { ProductError } from '../../../errors/product-error.ts';
import type { RegistryAnswer, RegistryRequest, RegistryTransport } from './registry-transport.ts';
import { ConnectionFailure } from './registry-transport.ts';
import type { Setback } from './retry-delay.ts';
import { retryDelay } from './retry-delay.ts';

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
