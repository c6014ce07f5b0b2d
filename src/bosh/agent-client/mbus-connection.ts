import {
  request as requestHttp,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { Duplex, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { ProductError } from '../../errors/product-error.ts';
import { isLoopback, parseSecretUrl, type SecretUrl } from '../parse-secret-url.ts';
import { socks5Connect, type Socks5Proxy } from './socks5-connect.ts';
import { countBytes, type OnBytes } from '../../platform/live-progress.ts';

export interface MbusOptions {
  /** `https://user:password@host:port`. http is allowed only for a loopback address. */
  readonly mbusUrl: string;
  readonly ca?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The proxy to the agent; without one the connection is direct. */
  readonly proxy?: Socks5Proxy | undefined;
}

interface MbusBody {
  readonly stream: Readable;
  readonly length: number;
  readonly onBytes?: OnBytes | undefined;
}

export interface MbusRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** The path below the bus's URL, with a leading slash. */
  readonly path: string;
  readonly body?: MbusBody | undefined;
  /** Milliseconds without a byte after which the agent counts as unreachable. */
  readonly idleTimeoutMs: number;
  /** Milliseconds for the whole exchange, even if its bytes arrive slowly. */
  readonly deadline: number;
}

/** Codes of Node and OpenSSL for a rejected certificate. A retry would not help. */
const certificateErrorPattern =
  /^(ERR_TLS_CERT_|CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERROR_IN_CERT_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|HOSTNAME_MISMATCH|EE_KEY_|CA_MD_|ERR_SSL_TLSV?1?3?_?ALERT_UNKNOWN_CA)/;

/**
 * Our agent's status for a VM whose disk is full. Its message names the place, and a retry would not help.
 */
const noRoom = 507;

/**
 * Sends HTTP requests to one agent, each on its own connection. Always verifies the certificate. Errors name
 * the agent's address: AGENT_UNTRUSTED for a rejected certificate or rejected credentials, AGENT_UNREACHABLE
 * for every other transport failure, INTERRUPTED once the signal is aborted.
 */
export class MbusConnection {
  /** The origin of the mbus URL, without credentials. */
  readonly address: string;
  readonly #options: RequestOptions;
  readonly #ca: string | undefined;
  #secureContext: SecureContext | undefined;
  readonly #basePath: string;
  readonly #signal: AbortSignal | undefined;
  readonly #proxy: Socks5Proxy | undefined;

  constructor({ mbusUrl, ca, signal, proxy }: MbusOptions) {
    const { url, user, password } = parse(mbusUrl);
    this.address = url.origin;
    this.#basePath = url.pathname.replace(/\/$/, '');
    this.#signal = signal;
    this.#proxy = proxy;
    this.#options = {
      protocol: url.protocol,
      hostname: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port,
      ...(user === '' ? {} : { auth: `${user}:${password}` }),
    };
    this.#ca = ca;
  }

  /**
   * Sends the request and passes the response to `read`, except for status 401 and every 5xx but 507, which
   * become errors.
   */
  async send<T>(request: MbusRequest, read: (answer: IncomingMessage) => Promise<T>): Promise<T> {
    const overdue = new AbortController();
    const timer = setTimeout(() => {
      overdue.abort(new Error(`no complete response within ${request.deadline / 1000} s`));
    }, request.deadline);
    let answer: IncomingMessage | undefined;
    try {
      answer = await this.#exchange(request, overdue.signal);
      if (answer.statusCode === 401) throw this.#untrustedError();
      if ((answer.statusCode ?? 0) >= 500 && answer.statusCode !== noRoom)
        throw new Error(`HTTP status ${answer.statusCode}`);
      return await read(answer);
    } catch (error) {
      throw this.#describe(overdue.signal.aborted ? overdue.signal.reason : error);
    } finally {
      clearTimeout(timer);
      // The rest of the response is not needed and may never end.
      answer?.destroy();
    }
  }

  async #exchange(
    { method, path, body, idleTimeoutMs }: MbusRequest,
    overdue: AbortSignal,
  ): Promise<IncomingMessage> {
    const isSecure = this.#options.protocol === 'https:';
    const send = isSecure ? requestHttps : requestHttp;
    const ended = this.#signal === undefined ? overdue : AbortSignal.any([this.#signal, overdue]);
    const headers = body === undefined ? {} : { 'content-length': body.length };
    const outgoing = send({
      ...this.#options,
      // By default an environment variable decides about rejectUnauthorized.
      ...(isSecure ? { secureContext: this.#trust(), rejectUnauthorized: true } : {}),
      method,
      path: `${this.#basePath}${path}`,
      headers: { ...headers, ...(method === 'POST' ? { 'content-type': 'application/json' } : {}) },
      timeout: idleTimeoutMs,
      signal: ended,
      ...(this.#proxy === undefined
        ? { agent: false }
        : this.#connectViaProxy(this.#proxy, ended, idleTimeoutMs)),
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no response within ${idleTimeoutMs / 1000} s`)));
    const answered = responseFor(outgoing);
    if (body === undefined) outgoing.end();
    // The agent may respond before it has read the whole body (for example with 401). That response counts.
    else {
      const counted = countBytes(body.onBytes, body.length);
      await Promise.race([pipeline(body.stream, counted, outgoing).catch(() => answered), answered]);
    }
    return answered;
  }

  /** Returns the option to connect through the proxy. The proxy has the same idle timeout as the agent. */
  #connectViaProxy(
    proxy: Socks5Proxy,
    ended: AbortSignal,
    idleTimeoutMs: number,
  ): Pick<RequestOptions, 'createConnection'> {
    const { protocol, hostname, port } = this.#options;
    const host = String(hostname);
    const target = { host, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
    const signal = AbortSignal.any([ended, AbortSignal.timeout(idleTimeoutMs)]);
    return {
      createConnection: (_options, done) => {
        socks5Connect(proxy, target, signal).then(
          (socket) => {
            if (protocol !== 'https:') return done(null, socket);
            const name = isIP(host) === 0 ? { servername: host } : {};
            const trust = { secureContext: this.#trust(), rejectUnauthorized: true };
            done(null, connectTls({ socket, host, ...name, ...trust }));
          },
          (error: unknown) => done(error instanceof Error ? error : new Error(String(error)), new Duplex()),
        );
        return undefined;
      },
    };
  }

  /** Creates the context once, because reading the CA is a large part of the cost of a request. */
  #trust(): SecureContext {
    this.#secureContext ??= createSecureContext(this.#ca === undefined ? {} : { ca: this.#ca });
    return this.#secureContext;
  }

  #untrustedError(): ProductError {
    return new ProductError(
      'AGENT_UNTRUSTED',
      `The agent at ${this.address} rejects the user and password of the mbus URL; they must be the ones with which the VM was created`,
    );
  }

  #describe(error: unknown): unknown {
    if (error instanceof ProductError || !(error instanceof Error)) return error;
    if ('path' in error && typeof error.path === 'string') return error;
    if (this.#signal?.aborted === true) {
      return new ProductError('INTERRUPTED', `Interrupted while talking to the agent at ${this.address}`);
    }
    const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
    if (certificateErrorPattern.test(code)) {
      return new ProductError(
        'AGENT_UNTRUSTED',
        `The certificate of the agent at ${this.address} is not trusted: ${error.message} (${code}); ${certificateStep(code)}`,
        { cause: error },
      );
    }
    // Keep only the reason of OpenSSL's message; its other parts are positions in OpenSSL's source.
    const output = error.message.replace(/^.*:SSL routines:[^:]*:([^:]*):.*$/su, 'no TLS: $1');
    const cause = output === '' ? code : output;
    return new ProductError('AGENT_UNREACHABLE', `The agent at ${this.address} cannot be reached: ${cause}`, {
      cause: error,
    });
  }
}

/**
 * Returns what to do about a rejected certificate. A vars store does not generate a certificate again when
 * its options change, so the variable must be removed.
 */
const certificateStep = (code: string): string =>
  code === 'ERR_TLS_CERT_ALTNAME_INVALID'
    ? "cloud_provider.mbus has to name a host of the certificate's alternative_names; where those are right by now, remove the variable of " +
      'cloud_provider.cert from the vars store and create the VM again'
    : 'cloud_provider.cert.ca must be the CA that signed it';

async function responseFor(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.on('error', reject);
  });
}

function parse(mbusUrl: string): SecretUrl {
  const parsed = parseSecretUrl(mbusUrl);
  const { url } = parsed ?? {};
  if (parsed !== undefined && url?.protocol === 'https:') return parsed;
  if (parsed !== undefined && url?.protocol === 'http:' && isLoopback(url)) return parsed;
  throw new ProductError('INVALID_ARGUMENT', 'The mbus URL must be like https://user:password@10.0.0.6:6868');
}
