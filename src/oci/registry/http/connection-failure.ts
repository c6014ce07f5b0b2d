import { ConnectionFailure } from './registry-transport.ts';

const messagesByCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused; is it running?',
  ConnectionRefused: 'the connection was refused; is it running?',
  EHOSTUNREACH: 'there is no way to it',
  ENETUNREACH: 'there is no way to it',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved',
  ETIMEDOUT: 'no answer came in time',
};

/** OpenSSL's verify results and the TLS codes of Node and Bun. */
const tlsCode =
  /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_OSSL|HOSTNAME_MISMATCH|INVALID_CA|UNKNOWN_CERT)/u;

/** Converts the runtime's error. The message contains nothing of the request. */
export function connectionFailure(cause: unknown): ConnectionFailure {
  const code = codeOf(cause) ?? '';
  const detail = code === '' ? '' : ` (${code})`;
  if (code === 'EPROTO' || code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
    const words = `it does not answer in TLS; does it speak plain http?${detail}`;
    return new ConnectionFailure(words, { isFinal: true, cause });
  }
  if (tlsCode.test(code)) {
    const words = `its certificate cannot be verified; give the CA that signed it${detail}`;
    return new ConnectionFailure(words, { isFinal: true, cause });
  }
  const words = messagesByCode[code] ?? 'the connection broke before the answer was complete';
  return new ConnectionFailure(`${words}${detail}`, { isFinal: false, cause });
}

function codeOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : codeOf(cause.cause);
}
