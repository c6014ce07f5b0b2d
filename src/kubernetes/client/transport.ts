import { isProductError, ProductError } from '../../errors/product-error.ts';

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path below the server's URL (whose own path stays in front). Begins with a slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
  /** Aborts the request, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface TransportStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Rejects like `request` if the connection breaks. Leaving the loop closes the connection. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * HTTPS to one Kubernetes API with verified TLS.
 *
 * Adapters: `node-transport.ts` and, for Bun, `fetch-transport.ts`; both pass
 * `transport-conformance.ts`. Every response of the server is a result, whatever its status. No response is a
 * ProductError KUBERNETES_UNREACHABLE that names host, port and cause. A transport never retries.
 */
export interface Transport {
  /** Sends a request. The whole exchange must end within the transport's `timeoutMs`. */
  request(request: TransportRequest): Promise<TransportResponse>;
  /** Resolves with the head of the response, within `timeoutMs`. The body may take any time. */
  stream(request: TransportRequest): Promise<TransportStream>;
  /** Closes idle connections; open streams end. */
  close(): void;
}

export interface TransportOptions {
  /** The limit for one exchange in milliseconds. */
  readonly timeoutMs?: number;
}

export const defaultTimeoutMs = 30_000;

/** Returns the URL of a request: the server with its path prefix, the path, the query. */
export function requestUrl(server: string, request: TransportRequest): URL {
  const url = new URL(server + request.path);
  for (const [name, value] of Object.entries(request.query ?? {})) {
    url.searchParams.set(name, value);
  }
  return url;
}

/** Why there was no response. `refused` and `tls` never reached the server's HTTP layer; `reset` may have. */
export type TransportFailure = 'refused' | 'dns' | 'tls' | 'reset' | 'timeout' | 'other';

const failureOfCode: Readonly<Record<string, TransportFailure>> = {
  ECONNREFUSED: 'refused',
  ConnectionRefused: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ECONNRESET: 'reset',
  ConnectionClosed: 'reset',
  EPIPE: 'reset',
  ETIMEDOUT: 'timeout',
  TimeoutError: 'timeout',
};

/** The cause of each failure, and the next step. */
const messageOfFailure: Readonly<Record<TransportFailure, readonly [cause: string, next: string]>> = {
  refused: ['the connection was refused', 'check that the cluster runs'],
  dns: ['its name cannot be resolved', 'correct the server, or the DNS of this machine'],
  tls: [
    'the TLS handshake failed',
    'check certificate-authority, tls-server-name and the client certificate',
  ],
  reset: ['the connection broke before the answer was complete', 'run the call again'],
  timeout: ['no answer came in time', 'see what its load is and whether the way to it is open'],
  other: ['the request failed', 'check that the kubeconfig names the right server'],
};

const plainHttpMessage = [
  'what answers there does not speak TLS',
  'check that this port is for https, not for plain http',
] as const;

/** Returns the error of a transport for an error of its runtime. `address` is host:port. */
export function unreachableError(address: string, cause: unknown): ProductError {
  const failure = classify(cause);
  const code = codeOf(cause);
  const detail = code === undefined ? '' : ` (${code})`;
  const [message, next] = respondsInPlainHttp(cause) ? plainHttpMessage : messageOfFailure[failure];
  return new ProductError(
    'KUBERNETES_UNREACHABLE',
    `the Kubernetes API at ${address} could not be reached: ${message}${detail}; ${next}`,
    { cause },
  );
}

/** The limit for one response in bytes. A list of ten thousand pods has about half of it. */
export const maxResponseBytes = 64 * 1024 * 1024;

/** Returns the error for a response that exceeds the limit. */
export function answerTooLong(address: string, limit = maxResponseBytes): ProductError {
  return new ProductError(
    'KUBERNETES_UNREACHABLE',
    `the Kubernetes API at ${address} sends more than ${limit} bytes as one answer; check that the kubeconfig names the right server`,
  );
}

/** Returns the kind of failure of a KUBERNETES_UNREACHABLE; undefined for any other error. */
export function transportFailure(error: unknown): TransportFailure | undefined {
  return isProductError(error, 'KUBERNETES_UNREACHABLE') ? classify(error.cause) : undefined;
}

/** Returns the code of an error. Bun has the code on the error itself, Node's fetch on its cause. */
function codeOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) {
    return undefined;
  }
  if ('code' in cause && typeof cause.code === 'string') {
    return cause.code;
  }
  return codeOf(cause.cause) ?? (cause.name === 'TimeoutError' ? cause.name : undefined);
}

function classify(cause: unknown): TransportFailure {
  const code = codeOf(cause);
  if (code === undefined) {
    return 'other';
  }
  return failureOfCode[code] ?? (isTlsCode(code) ? 'tls' : 'other');
}

/** Recognizes the messages of Node's OpenSSL and of Bun. */
function respondsInPlainHttp(cause: unknown): boolean {
  return cause instanceof Error && /wrong version number|speak TLS on this port/u.test(cause.message);
}

/**
 * True for OpenSSL's verify results and Node's own TLS codes (node: doc/api/tls.md, X509 certificate error
 * codes).
 */
function isTlsCode(code: string): boolean {
  return /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_OSSL|HOSTNAME_MISMATCH|INVALID_CA|UNKNOWN_CERT|ERROR_IN_CERT|PATH_LENGTH)/u.test(
    code,
  );
}
