import {
  type ClientRequest,
  type IncomingMessage,
  Agent as HttpAgent,
  request as httpRequest,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type RegistryAnswer,
  type RegistryRequest,
  type RegistryTransport,
  type SentBody,
  ConnectionFailure,
} from './registry-transport.ts';
import { X509Certificate } from 'node:crypto';

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
const maxAnswerLength = 4;

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
    const cut = (): void => void outgoing.destroy(new Error('the caller stopped waiting'));
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

const timedOut = (): Error => Object.assign(new Error('no response came in time'), { code: 'ETIMEDOUT' });

const unreadable = (): ConnectionFailure =>
  new ConnectionFailure(
    'the configured CA has a certificate that cannot be read; give the whole certificate, in PEM with its line breaks',
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
    if (length > maxAnswerLength * 1024 * 1024)
      throw new ConnectionFailure(`its response is longer than ${maxAnswerLength} MiB`, {
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

const blocks = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----.*?(?:-----END [A-Z0-9 ]+-----|$)/gsu;

/**
 * Returns whether a PEM text contains certificates and all of them can be read. Node.js skips an unreadable
 * certificate and trusts fewer than intended, and Bun throws an error that looks like a defect of this
 * program.
 */
export function isCertificatePem(pem: string): boolean {
  const certificates = pem.match(blocks) ?? [];
  return certificates.length > 0 && certificates.every(isReadable);
}

function isReadable(block: string): boolean {
  try {
    return new X509Certificate(block).subject !== undefined;
  } catch {
    return false;
  }
}

const messagesByCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused; is it running?',
  ConnectionRefused: 'the connection was refused; is it running?',
  EHOSTUNREACH: 'there is no network route to it',
  ENETUNREACH: 'there is no network route to it',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved',
  ETIMEDOUT: 'no response came in time',
};

/** OpenSSL's verify results and the TLS codes of Node and Bun. */
const tlsCode =
  /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_OSSL|HOSTNAME_MISMATCH|INVALID_CA|UNKNOWN_CERT)/u;

/** Converts the runtime's error. The message contains nothing of the request. */
export function connectionFailure(cause: unknown): ConnectionFailure {
  const code = codeOf(cause) ?? '';
  const detail = code === '' ? '' : ` (${code})`;
  if (code === 'EPROTO' || code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
    const message = `it does not answer in TLS; does it speak plain http?${detail}`;
    return new ConnectionFailure(message, { isFinal: true, cause });
  }
  if (tlsCode.test(code)) {
    const message = `its certificate cannot be verified; give the CA that signed it${detail}`;
    return new ConnectionFailure(message, { isFinal: true, cause });
  }
  const text = messagesByCode[code] ?? 'the connection broke before the response was complete';
  return new ConnectionFailure(`${text}${detail}`, { isFinal: false, cause });
}

function codeOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : codeOf(cause.cause);
}
