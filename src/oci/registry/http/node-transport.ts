import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isCertificatePem } from './are-certificates.ts';
import { connectionFailure } from './connection-failure.ts';
import type { RegistryAnswer, RegistryRequest, RegistryTransport, SentBody } from './registry-transport.ts';
import { ConnectionFailure } from './registry-transport.ts';

export interface NodeTransportOptions {
  /** PEM; absent: the root certificates that the runtime trusts. */
  readonly ca: string | undefined;
  /** Milliseconds without a byte in either direction after which a connection counts as broken. */
  readonly idleMs: number;
  /** Milliseconds for the whole response after the request was sent; default twice `idleMs`. */
  readonly answerMs?: number;
  readonly signal: AbortSignal | undefined;
  /** Milliseconds after the signal in which a request with `isFinished` may end; default 5000. */
  readonly graceMs?: number;
}

/** MiB: registries reject larger manifests (distribution-spec). */
const longestAnswer = 4;

/**
 * Uses node:http and node:https, in Node.js and in Bun. Certificates are always verified. Bodies are sent as
 * fast as the server reads them.
 */
export class NodeTransport implements RegistryTransport {
  readonly #plain = new HttpAgent({ keepAlive: true });
  readonly #secure: HttpsAgent;
  readonly #options: NodeTransportOptions;
  readonly #isTrustReadable: boolean;

  constructor(options: NodeTransportOptions) {
    this.#options = options;
    const { ca } = options;
    this.#isTrustReadable = ca === undefined || isCertificatePem(ca);
    this.#secure = new HttpsAgent({
      keepAlive: true,
      rejectUnauthorized: true,
      ...(ca !== undefined && { ca }),
    });
  }

  async send(request: RegistryRequest): Promise<RegistryAnswer> {
    const { signal } = this.#options;
    signal?.throwIfAborted();
    if (!this.#isTrustReadable && request.url.protocol === 'https:') throw unreadable();
    const outgoing = this.#open(request);
    const cut = (): void => void outgoing.destroy(new Error('the caller has gone'));
    let timer: NodeJS.Timeout | undefined;
    const abort = (): void => {
      if (request.isFinished === true) timer = setTimeout(cut, this.#options.graceMs ?? 5000);
      else cut();
    };
    signal?.addEventListener('abort', abort);
    try {
      const answer = await roundTrip(outgoing, request.body, this.#options);
      if (request.isFinished !== true) signal?.throwIfAborted();
      return answer;
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  #open({ method, url, headers, body }: RegistryRequest): ClientRequest {
    const options = {
      method,
      headers: {
        ...headers,
        ...((body !== undefined || method === 'POST' || method === 'PUT') && {
          'content-length': String(body?.size ?? 0),
        }),
      },
    };
    const { ca, idleMs } = this.#options;
    const outgoing =
      url.protocol === 'http:'
        ? httpRequest(url, { ...options, agent: this.#plain })
        : httpsRequest(url, {
            ...options,
            agent: this.#secure,
            rejectUnauthorized: true,
            ...(ca !== undefined && { ca }),
          });
    outgoing.setTimeout(idleMs, () => {
      outgoing.destroy(timedOut());
    });
    return outgoing;
  }
}

const timedOut = (): Error => Object.assign(new Error('nothing came in time'), { code: 'ETIMEDOUT' });

const unreadable = (): ConnectionFailure =>
  new ConnectionFailure(
    'the CA that it was given holds a certificate that cannot be read; give it whole, in PEM with its line breaks',
    { isFinal: true, cause: undefined },
  );

/**
 * Sends the body and reads the response. If the response arrives before the body is sent, the rest of the
 * body is not sent.
 */
async function roundTrip(
  outgoing: ClientRequest,
  body: SentBody | undefined,
  { idleMs, answerMs = 2 * idleMs }: NodeTransportOptions,
): Promise<RegistryAnswer> {
  let timer: NodeJS.Timeout | undefined;
  const limit = (): void => void (timer ??= setTimeout(() => outgoing.destroy(timedOut()), answerMs));
  if (body === undefined) limit();
  const { promise: head, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.once('response', resolve);
  outgoing.on('error', reject);
  const source = body === undefined ? undefined : withIdleTimeout(body);
  const sending = source === undefined ? outgoing.end() : pipeline(Readable.from(source.chunks), outgoing);
  const sent = Promise.resolve(sending).then(() => true);
  // The error is reported where the response is awaited; here it only must not count as unhandled.
  sent.catch((error: unknown) => reject(error));
  try {
    const response = await head;
    limit();
    const answer = await readAnswer(response);
    if (!outgoing.writableFinished) outgoing.destroy();
    return answer;
  } catch (error) {
    outgoing.destroy();
    if (source?.failure !== undefined) throw source.failure.error;
    throw error instanceof ConnectionFailure ? error : connectionFailure(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Distinguishes a body that cannot be read from a connection that breaks: a pipeline reports both alike. */
function withIdleTimeout(body: SentBody): {
  readonly chunks: AsyncIterable<Uint8Array>;
  failure: { readonly error: unknown } | undefined;
} {
  const watch: { chunks: AsyncIterable<Uint8Array>; failure: { error: unknown } | undefined } = {
    chunks: chunks(),
    failure: undefined,
  };
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      yield* body.open();
    } catch (error) {
      watch.failure = { error };
      throw error;
    }
  }
  return watch;
}

async function readAnswer(response: IncomingMessage): Promise<RegistryAnswer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > longestAnswer * 1024 * 1024)
      throw new ConnectionFailure(`its answer is longer than ${longestAnswer} MiB`, {
        isFinal: true,
        cause: undefined,
      });
    chunks.push(chunk);
  }
  if (!response.complete) throw Object.assign(new Error('cut'), { code: 'ECONNRESET' });
  const headers = Object.entries(response.headers).map(([name, value]) => [
    name.toLowerCase(),
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ]);
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: Buffer.concat(chunks),
  };
}
