import { isProductError, ProductError } from '../../errors/product-error.ts';
import { readTextFile } from '../../platform/read-text-file.ts';

/** The address of one Kubernetes API and the credentials for it. Contains secrets: never log it. */
export interface Access {
  /** https URL, a path prefix allowed, no slash at the end. */
  readonly server: string;
  /** PEM. Default: the roots that the runtime trusts. */
  readonly ca?: string;
  /** PEM; always together with `key`. */
  readonly certificate?: string;
  readonly key?: string;
  readonly token?: string;
  /** Read again for each request, because mounted tokens rotate. Wins over `token`. */
  readonly tokenFile?: string;
  /** Called for each request. Wins over all fields above. */
  readonly credentials?: CredentialSource;
  /** Headers that name the user to act as, sent with each request. Default: the credentials' own user. */
  readonly impersonation?: Headers;
  /** URL of the HTTP proxy that tunnels to the server. Secret: may carry a password. */
  readonly proxy?: string;
  /** The name that the server's certificate is checked against, if it is not the host of the URL. */
  readonly tlsServerName?: string;
  /** The namespace of objects that name none. */
  readonly namespace: string;
}

/** The problem text for a server URL that is not https. */
export const httpsRequired =
  'must be an https URL: over plain http anyone on the way reads the credentials; where that is a kubectl proxy, name the server behind it';

/** Returns the credentials for the next request. Rejects with INVALID_CONFIG if they cannot be read. */
export async function credentialsOf(access: Access): Promise<Credentials> {
  if (access.credentials !== undefined) return access.credentials.current();
  const { certificate, key, tokenFile } = access;
  const token = tokenFile === undefined ? access.token : readTokenFile(tokenFile);
  return { token, certificate, key };
}

/**
 * Returns the secrets that requests were sent with so far, so that they can be redacted from messages.
 * Includes tokens of files and plugins. Runs no plugin. Returns an empty list if the credentials cannot be
 * read, because no request was sent with them then.
 */
export async function issuedCredentials(access: Access): Promise<Pick<Credentials, 'token' | 'key'>[]> {
  try {
    const used = await (access.credentials?.issued() ?? credentialsOf(access).then((only) => [only]));
    return used.map(({ token, key }) => ({ token, key }));
  } catch (error) {
    if (isProductError(error, 'INVALID_CONFIG')) return [];
    throw error;
  }
}

/**
 * Returns the headers for authentication and impersonation; every request carries them, on every transport.
 * Throws INVALID_CONFIG for a token that no header can carry: a line break in it would begin another header.
 */
export function identityHeaders({ impersonation }: Access, { token }: Credentials): Headers {
  if (token === undefined) return { ...impersonation };
  if (!/^[\x20-\x7E]*$/u.test(token))
    throw new ProductError(
      'INVALID_CONFIG',
      'the token cannot be sent: it has a line break or a character that is not printable ASCII; correct it in the kubeconfig, or where that gets it from',
    );
  return { authorization: `Bearer ${token}`, ...impersonation };
}

/**
 * Returns the headers of `identityHeaders` for Bun, whose fetch and WebSocket join header lines of one name
 * into one: two groups would arrive as one group of another name. Throws INVALID_CONFIG for headers with
 * several values.
 */
export function identityHeadersInBun(access: Access, credentials: Credentials): Record<string, string> {
  const headers = Object.entries(identityHeaders(access, credentials));
  return Object.fromEntries(headers.map(([name, value]) => [name, assertHeaderValue(value)]));
}

function assertHeaderValue(value: string | string[]): string {
  if (typeof value === 'string') return value;
  throw new ProductError(
    'INVALID_CONFIG',
    "the kubeconfig's as-groups or a key of its as-user-extra has several values, which Bun cannot send; have the CPI run with Node (the job's property node_path), or name one",
  );
}

/** True if this process is Bun. */
export const isBun = (): boolean => 'Bun' in globalThis;

function readTokenFile(path: string): string {
  try {
    return readTextFile(path).trim();
  } catch (error) {
    throw new ProductError(
      'INVALID_CONFIG',
      `the token file ${path} of the kubeconfig cannot be read; let the CPI's user read it, or correct tokenFile`,
      {
        cause: error,
      },
    );
  }
}

/**
 * Returns `host:port` of the server, followed by the address of the proxy if there is one, for error
 * messages.
 */
export function serverAddress(access: Access): string {
  const server = hostAndPort(new URL(access.server), '443');
  if (access.proxy === undefined) return server;
  const proxy = new URL(access.proxy);
  return `${server} through the proxy ${hostAndPort(proxy, proxy.protocol === 'https:' ? '443' : '80')}`;
}

function hostAndPort(url: URL, defaultPort: string): string {
  return `${url.hostname}:${url.port === '' ? defaultPort : url.port}`;
}

/** The credentials of one request. Secret. */
export interface Credentials {
  readonly token?: string | undefined;
  /** PEM; always together with `key`. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** Credentials from a program. They may expire while this process runs. */
export interface CredentialSource {
  /** Returns the cached credentials if they have not expired, else new ones. Rejects with INVALID_CONFIG. */
  readonly current: () => Promise<Credentials>;
  /**
   * Returns all credentials that the program has issued so far, without running it. Expired ones are secret,
   * too.
   */
  readonly issued: () => Promise<readonly Credentials[]>;
  /**
   * Reports that the server rejected the current credentials (401). The next call of `current` gets new ones.
   */
  readonly refused: () => void;
}

/** Headers by name in lower case. A list has one header line per value. */
export type Headers = Readonly<Record<string, string | string[]>>;
