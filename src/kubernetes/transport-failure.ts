import { isProductError, ProductError } from '../errors/product-error.ts';

/** Why there was no answer: `refused` and `tls` never reached the server's HTTP, `reset` may have. */
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

const wordsOfFailure: Readonly<Record<TransportFailure, string>> = {
  refused: 'the connection was refused; is the cluster running?',
  dns: 'its name cannot be resolved',
  tls: 'the TLS handshake failed; check certificate-authority, tls-server-name and the client certificate',
  reset: 'the connection broke before the answer was complete',
  timeout: 'no answer came in time',
  other: 'the request failed',
};

/** The error of a transport, from what its runtime threw. `address` is host:port. */
export function unreachable(address: string, cause: unknown): ProductError {
  const failure = classify(cause);
  const code = codeOf(cause);
  const detail = code === undefined ? '' : ` (${code})`;
  return new ProductError(
    'KUBERNETES_UNREACHABLE',
    `the Kubernetes API at ${address} could not be reached: ${wordsOfFailure[failure]}${detail}`,
    { cause },
  );
}

/** What kind of failure a KUBERNETES_UNREACHABLE is; undefined for any other error. */
export function transportFailure(error: unknown): TransportFailure | undefined {
  return isProductError(error, 'KUBERNETES_UNREACHABLE') ? classify(error.cause) : undefined;
}

/** Bun keeps the code on the error itself, Node's fetch on its cause. */
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

/** OpenSSL's verify results and Node's own TLS codes (node: doc/api/tls.md, X509 certificate error codes). */
function isTlsCode(code: string): boolean {
  return /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_OSSL|HOSTNAME_MISMATCH|INVALID_CA|UNKNOWN_CERT|ERROR_IN_CERT|PATH_LENGTH)/u.test(
    code,
  );
}
