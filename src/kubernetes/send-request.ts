import type { Clock } from './clock.ts';
import { ApiReadiness } from './readiness.ts';
import { responseError } from './response-status.ts';
import type { RetryReason } from './retry.ts';
import { retryDelay } from './retry.ts';
import { transportFailure } from './transport-failure.ts';
import type { Transport, TransportRequest, TransportResponse } from './transport.ts';

/**
 * How long, in milliseconds, a server may refuse a request while it reports that it is starting, or does not
 * let us read its readiness. The server reads the roles first, and has read them some seconds after it begins
 * to listen.
 */
const maxWaitMs = { starting: 30_000, forbidden: 10_000 } as const;
const initialDelayMs = 500;

/**
 * Returns a 2xx response. Rejects with the ApiError of another response, or with the failure of the
 * connection.
 */
export type SendRequest = (request: TransportRequest) => Promise<TransportResponse>;

/**
 * Returns a function that sends requests. It repeats requests that are safe to repeat (`retry.ts`), and
 * requests that were forbidden before the server was known to be ready: a 403 means that nothing was done, so
 * every verb is repeated. A server may become ready between its 403 and our check, so the request is sent
 * once more before the 403 counts.
 */
export function requestSender(transport: Transport, clock: Clock, random: () => number): SendRequest {
  const readiness = new ApiReadiness(transport, clock);
  return async (request) => {
    let refusedAt: number | undefined;
    // its own, since other requests read the readiness, too: what they read may be newer than this request
    let isKnownReady = false;
    for (let tries = 1; ;) {
      const sentAt = clock.now();
      const outcome = await attempt(transport, request);
      if (outcome.response !== undefined) return outcome.response;
      if (isForbidden(outcome.setback) && !isKnownReady && !readiness.wasReady(sentAt)) {
        // counts from the first refusal: before it the server may not even have listened
        refusedAt ??= clock.now();
        const state = await readiness.look();
        if (state === 'ready') {
          isKnownReady = true;
          continue;
        }
        if (clock.now() - refusedAt < maxWaitMs[state]) {
          await clock.sleep(initialDelayMs);
          continue;
        }
        if (state === 'forbidden') readiness.giveUp();
      }
      const delay = retryDelay({ method: request.method, tries, setback: outcome.setback }, random());
      if (delay === undefined) throw outcome.error;
      await clock.sleep(delay);
      tries += 1;
    }
  };
}

type Outcome =
  | { readonly response: TransportResponse }
  | { readonly response?: undefined; readonly setback: RetryReason; readonly error: unknown };

async function attempt(transport: Transport, request: TransportRequest): Promise<Outcome> {
  try {
    const response = await transport.request(request);
    if (response.status >= 200 && response.status < 300) return { response };
    const setback = { status: response.status, retryAfter: response.headers['retry-after'] };
    return { setback, error: responseError(response.status, response.body, request) };
  } catch (error) {
    const failure = transportFailure(error);
    if (failure === undefined) throw error;
    return { setback: { failure }, error };
  }
}

const isForbidden = (setback: RetryReason): boolean => 'status' in setback && setback.status === 403;
