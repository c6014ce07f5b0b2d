import { ProductError } from '../errors/product-error.ts';
import { readTextFile } from './read-text-file.ts';

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
  /** The name that the server's certificate is checked against, when it is not the URL's host. */
  readonly tlsServerName?: string;
  /** Where objects go when nothing else is said. */
  readonly namespace: string;
}

/** The Authorization header's value, or undefined where a client certificate speaks for us. */
export function authorization(access: Access): string | undefined {
  const token = access.tokenFile === undefined ? access.token : readTokenFile(access.tokenFile);
  return token === undefined ? undefined : `Bearer ${token}`;
}

function readTokenFile(path: string): string {
  try {
    return readTextFile(path).trim();
  } catch (error) {
    throw new ProductError('INVALID_CONFIG', `the token file ${path} of the kubeconfig cannot be read`, {
      cause: error,
    });
  }
}

/** `host:port` of the server, as errors name it. */
export function serverAddress(access: Access): string {
  const url = new URL(access.server);
  return `${url.hostname}:${url.port === '' ? '443' : url.port}`;
}
