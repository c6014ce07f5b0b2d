import { request as requestHttp } from 'node:http';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { Duplex, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { ProductError } from '../../errors/product-error.ts';
import { isLoopback, parseSecretUrl } from '../url/parse-secret-url.ts';
import type { SecretUrl } from '../url/parse-secret-url.ts';
import { socks5Connect, type Socks5Proxy } from './socks5-connect.ts';

export interface MbusOptions {
  /** `https://user:password@host:port`; http to this machine alone. */
  readonly mbusUrl: string;
  readonly ca?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** By way of which the agent is reached; absent: directly. */
  readonly proxy?: Socks5Proxy | undefined;
}

export interface MbusRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Below the bus's URL, with a leading slash. */
  readonly path: string;
  readonly body?: { readonly stream: Readable; readonly length: number } | undefined;
  /** Milliseconds without a byte after which the agent counts as unreachable. */
  readonly patience: number;
  /** Milliseconds for the whole exchange, however slowly its bytes come. */
  readonly deadline: number;
}

/** Node's and OpenSSL's words for a certificate that is refused: no later try will go better. */
const certificateErrorPattern =
  /^(ERR_TLS_CERT_|CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERROR_IN_CERT_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|HOSTNAME_MISMATCH|EE_KEY_|CA_MD_|ERR_SSL_TLSV?1?3?_?ALERT_UNKNOWN_CA)/;

/** Of our agent whose VM has no room: it says where, and no second try helps. */
const noRoom = 507;

/**
 * HTTP requests to one agent, a connection for each. The certificate is always verified. Errors name the agent by
 * address: AGENT_UNTRUSTED for certificate and credentials, AGENT_UNREACHABLE for every other failure of transport,
 * INTERRUPTED once the signal is aborted.
 */
export class MbusConnection {
  /** Without credentials. */
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

  /** Sends the request and gives the answer to `read`, whatever its status but 401 and every 5xx except 507. */
  async send<T>(request: MbusRequest, read: (answer: IncomingMessage) => Promise<T>): Promise<T> {
    const overdue = new AbortController();
    const timer = setTimeout(() => {
      overdue.abort(new Error(`no whole answer within ${request.deadline / 1000} s`));
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
      // what was not read is not wanted, and may never end
      answer?.destroy();
    }
  }

  async #exchange(
    { method, path, body, patience }: MbusRequest,
    overdue: AbortSignal,
  ): Promise<IncomingMessage> {
    const isSecure = this.#options.protocol === 'https:';
    const send = isSecure ? requestHttps : requestHttp;
    const ended = this.#signal === undefined ? overdue : AbortSignal.any([this.#signal, overdue]);
    const headers = body === undefined ? {} : { 'content-length': body.length };
    const outgoing = send({
      ...this.#options,
      // by default an environment variable decides
      ...(isSecure ? { secureContext: this.#trust(), rejectUnauthorized: true } : {}),
      method,
      path: `${this.#basePath}${path}`,
      headers: { ...headers, ...(method === 'POST' ? { 'content-type': 'application/json' } : {}) },
      timeout: patience,
      signal: ended,
      ...(this.#proxy === undefined ? { agent: false } : this.#connectViaProxy(this.#proxy, ended, patience)),
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${patience / 1000} s`)));
    const answered = responseFor(outgoing);
    if (body === undefined) outgoing.end();
    // An agent may answer, a 401 for example, before it has read the body; then the answer counts.
    else await Promise.race([pipeline(body.stream, outgoing).catch(() => answered), answered]);
    return answered;
  }

  /** The proxy's part of the way has the patience of the agent's. */
  #connectViaProxy(
    proxy: Socks5Proxy,
    ended: AbortSignal,
    patience: number,
  ): Pick<RequestOptions, 'createConnection'> {
    const { protocol, hostname, port } = this.#options;
    const host = String(hostname);
    const target = { host, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
    const signal = AbortSignal.any([ended, AbortSignal.timeout(patience)]);
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

  /** Made once: reading the CA is a good part of what a request costs. */
  #trust(): SecureContext {
    this.#secureContext ??= createSecureContext(this.#ca === undefined ? {} : { ca: this.#ca });
    return this.#secureContext;
  }

  #untrustedError(): ProductError {
    return new ProductError(
      'AGENT_UNTRUSTED',
      `The agent at ${this.address} refuses the user and password of the mbus URL; they have to be those that the VM was created with`,
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
        `The certificate of the agent at ${this.address} is refused: ${error.message} (${code}); ${certificateStep(code)}`,
        { cause: error },
      );
    }
    // of OpenSSL's words the reason; the others are places in its source
    const said = error.message.replace(/^.*:SSL routines:[^:]*:([^:]*):.*$/su, 'no TLS: $1');
    const why = said === '' ? code : said;
    return new ProductError('AGENT_UNREACHABLE', `The agent at ${this.address} cannot be reached: ${why}`, {
      cause: error,
    });
  }
}

/** A vars store keeps a certificate whose options have changed. */
const certificateStep = (code: string): string =>
  code === 'ERR_TLS_CERT_ALTNAME_INVALID'
    ? "cloud_provider.mbus has to name a host of the certificate's alternative_names; where those are right by now, remove the variable of " +
      'cloud_provider.cert from the vars store and create the VM again'
    : 'cloud_provider.cert.ca has to be the CA that signed it';

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
  throw new ProductError(
    'INVALID_ARGUMENT',
    'The mbus URL has to be one like https://user:password@10.0.0.6:6868',
  );
}
