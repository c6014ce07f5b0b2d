import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../../kubernetes/clock.ts';
import { NodeTransport } from '../../oci/registry/http/node-transport.ts';
import type { RegistryAnswer } from '../../oci/registry/http/registry-transport.ts';
import { bytesBody, ConnectionFailure } from '../../oci/registry/http/registry-transport.ts';
import { isPassing, maximumTries, retryDelay } from '../../oci/registry/http/retry-delay.ts';
import { setbackOf } from '../../oci/registry/http/retry-while-passing.ts';

/** A request that may be sent twice. */
export interface Question {
  /** Who is asked, for messages: `the BOSH director at https://10.0.0.6:25555`. */
  readonly whom: string;
  readonly method: 'GET' | 'POST';
  /** https. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Patience {
  /** PEM; absent: the roots that the runtime trusts. */
  readonly ca: string | undefined;
  readonly clock: Clock;
  /** In [0, 1); spreads callers out. */
  readonly random: () => number;
  /** Milliseconds since the epoch: no try begins or lasts beyond. */
  readonly until: number;
  /** Milliseconds for one exchange. */
  readonly requestMs: number;
}

/** MiB of an answer: a manifest is in it. */
const longestAnswer = 16;

/**
 * The answer, whatever its status, but one that may be another next time: then it is asked again, with longer and longer
 * pauses, until the time is over: a director that starts takes a while. Redirects are answers. Rejects with DIRECTOR_UNREACHABLE where none came, with DIRECTOR_ERROR where none
 * will come: no TLS, a certificate that is not trusted, an answer too long to be one.
 */
export async function ask(patience: Patience, question: Question): Promise<RegistryAnswer> {
  const { clock, until, random } = patience;
  for (let tries = 1; ; tries += 1) {
    const outcome = await attempt(patience, question);
    if (outcome instanceof ConnectionFailure) {
      if (outcome.isFinal) throw refused(question.whom, outcome);
    } else if (!isPassing(outcome.status)) return outcome;
    const now = clock.now();
    const counted = Math.min(tries, maximumTries - 1);
    const delay = retryDelay({ setback: setbackOf(outcome), tries: counted, now, random: random() });
    if (delay === undefined || now + delay >= until) throw unreachable(question.whom, outcome, tries);
    await clock.sleep(delay);
  }
}

/** A connection of its own for each, so that nothing is left open in between. */
async function attempt(
  { ca, clock, until, requestMs }: Patience,
  { method, url, headers = {}, body }: Question,
): Promise<RegistryAnswer | ConnectionFailure> {
  const idleMs = Math.max(1, Math.min(requestMs, until - clock.now()));
  const tooLong = new AbortController();
  const timer = setTimeout(() => tooLong.abort(), idleMs);
  const transport = new NodeTransport({ ca, idleMs, signal: tooLong.signal, longestAnswer });
  try {
    return await transport.send({
      method,
      url: new URL(url),
      headers: { accept: 'application/json', ...headers },
      ...(body !== undefined && { body: bytesBody(Buffer.from(body)) }),
    });
  } catch (error) {
    if (error instanceof ConnectionFailure) return error;
    if (!tooLong.signal.aborted) throw error;
    return new ConnectionFailure('no answer came in time', { isFinal: false, cause: error });
  } finally {
    clearTimeout(timer);
    transport.close();
  }
}

function unreachable(whom: string, outcome: RegistryAnswer | ConnectionFailure, tries: number): ProductError {
  const why = outcome instanceof ConnectionFailure ? outcome.message : `it answers with ${outcome.status}`;
  const often = tries > 1 ? ` (${tries} tries)` : '';
  return new ProductError(
    'DIRECTOR_UNREACHABLE',
    `${whom} could not be asked: ${why}${often}; see that it runs and that its address is right: a director's is director.url of the CPI's configuration, a UAA's the one that this director names`,
    { cause: outcome instanceof ConnectionFailure ? outcome.cause : undefined },
  );
}

const refused = (whom: string, failure: ConnectionFailure): ProductError =>
  new ProductError(
    'DIRECTOR_ERROR',
    `${whom} could not be asked: ${failure.message}; check director.url and director.ca of the CPI's configuration`,
    { cause: failure.cause },
  );
