import { ProductError } from '../errors/product-error.ts';
import type { Access } from './access.ts';
import { environmentProxy, proxyProblem } from './proxy.ts';

export interface ServerAccess {
  /** https URL. */
  readonly server: string;
  /** PEM. Default: the roots that the runtime trusts. */
  readonly ca: string | undefined;
  readonly token: string | undefined;
  /** PEM. */
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/**
 * Returns access without a kubeconfig: the given parts, and the proxy of the environment. Throws
 * INVALID_CONFIG.
 */
export function serverAccess(
  { server, ca, token, certificate, key }: ServerAccess,
  environment: Readonly<Record<string, string | undefined>>,
): Omit<Access, 'namespace'> {
  return {
    server,
    ...(ca !== undefined && { ca }),
    ...(token !== undefined && { token }),
    ...(certificate !== undefined && { certificate }),
    ...(key !== undefined && { key }),
    ...proxyOf(server, environment),
  };
}

/** Returns the proxy to a server if the environment names one. Throws INVALID_CONFIG. */
export function proxyOf(
  server: string,
  environment: Readonly<Record<string, string | undefined>>,
): Pick<Access, 'proxy'> {
  const proxy = environmentProxy(server, environment);
  if (proxy === undefined) return {};
  const problem = proxyProblem(proxy);
  if (problem === undefined) return { proxy };
  throw new ProductError(
    'INVALID_CONFIG',
    `the proxy of HTTPS_PROXY or env.https_proxy ${problem}; correct it there`,
  );
}
