import { isProductError, ProductError } from '../errors/product-error.ts';
import { readTextFile } from './read-text-file.ts';
import type { Credentials, CredentialSource } from './credentials.ts';
import type { Headers } from './impersonation.ts';

/** How to reach one Kubernetes API and as whom. Holds secrets: never log it. */
export interface Access {
  /** https URL, a path prefix allowed, no slash at the end. */
  readonly server: string;
  /** PEM; absent: the roots that the runtime trusts. */
  readonly ca?: string;
  /** PEM; always together with `key`. */
  readonly certificate?: string;
  readonly key?: string;
  readonly token?: string;
  /** Read again for each request, because mounted tokens rotate. Wins over `token`. */
  readonly tokenFile?: string;
  /** Asked for each request; wins over all of the above. */
  readonly credentials?: CredentialSource;
  /** Sent with each request: as whom the holder of the credentials acts. Absent: as itself. */
  readonly impersonation?: Headers;
  /** URL of the HTTP proxy that tunnels to the server. Secret: may carry a password. */
  readonly proxy?: string;
  /** The name that the server's certificate is checked against, when it is not the URL's host. */
  readonly tlsServerName?: string;
  /** Where objects go when nothing else is said. */
  readonly namespace: string;
}

/** Of a server's URL that is none. */
export const httpsRequired =
  'must be an https URL: over plain http anyone on the way reads the credentials; where that is a kubectl proxy, name the server behind it';

/** Who the next request speaks as. Rejects with INVALID_CONFIG where that cannot be found out. */
export async function credentialsOf(access: Access): Promise<Credentials> {
  if (access.credentials !== undefined) return access.credentials.current();
  const { certificate, key, tokenFile } = access;
  const token = tokenFile === undefined ? access.token : readTokenFile(tokenFile);
  return { token, certificate, key };
}

/**
 * What requests were sent with so far, to be cut out of messages: tokens of files and plugins, too. Asks no plugin; empty where the
 * credentials cannot be had, since no request was sent with them then.
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
 * The headers that say who we are and as whom we act; every request carries them, whatever sends it. Throws INVALID_CONFIG for
 * a token that no header can hold: a line break in it would begin another header.
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
 * The same for Bun, whose fetch and WebSocket join lines of one name into one: two groups would arrive as one group of
 * another name. Throws INVALID_CONFIG for those.
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

/** Whether this process is Bun. */
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

/** `host:port` of the server, and the proxy's where there is one, as errors name it. */
export function serverAddress(access: Access): string {
  const server = hostAndPort(new URL(access.server), '443');
  if (access.proxy === undefined) return server;
  const proxy = new URL(access.proxy);
  return `${server} through the proxy ${hostAndPort(proxy, proxy.protocol === 'https:' ? '443' : '80')}`;
}

function hostAndPort(url: URL, defaultPort: string): string {
  return `${url.hostname}:${url.port === '' ? defaultPort : url.port}`;
}
