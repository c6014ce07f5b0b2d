import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Access } from './access.ts';
import { environmentProxy, proxyProblem } from './proxy.ts';

/** The directory of a pod's service account (kubernetes: plugin/pkg/admission/serviceaccount). */
const serviceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Written by the entry script of a VM's container (src/cpi/vm/scripts/entry.ts): the host and the port, one
 * per line.
 */
const apiServerFile = '/etc/bosh-kubernetes/api-server';

export interface InClusterOptions {
  /** The environment of the process: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are read. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * https URL. Default: the address in the environment, else that in the file, else the cluster's DNS name
   * for the API server.
   */
  readonly server?: string | undefined;
  readonly directory?: string;
  readonly apiServerFile?: string;
}

/**
 * Returns access as the service account of the pod that this process runs in (client-go
 * rest.InClusterConfig). The token is read again for each request, because it rotates. A director removes the
 * server's address from the environment of its processes, and a VM whose network has its own name servers
 * cannot query the cluster's DNS. Therefore the VM's entry script writes the address to a file.
 */
export function inClusterAccess(options: InClusterOptions): Access {
  const directory = options.directory ?? serviceAccountDirectory;
  return {
    server:
      options.server ??
      environmentServer(options.environment) ??
      serverFromFile(options.apiServerFile ?? apiServerFile) ??
      'https://kubernetes.default.svc',
    ca: readServiceAccountFile(directory, 'ca.crt'),
    tokenFile: join(directory, 'token'),
    namespace: readServiceAccountFile(directory, 'namespace').trim(),
  };
}

function environmentServer(environment: InClusterOptions['environment']): string | undefined {
  return serverAt(environment['KUBERNETES_SERVICE_HOST'], environment['KUBERNETES_SERVICE_PORT']);
}

function serverFromFile(path: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const [host, port] = text.split('\n');
  return serverAt(host, port);
}

function serverAt(host = '', port = ''): string | undefined {
  if (host === '' || port === '') return undefined;
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function readServiceAccountFile(directory: string, name: string): string {
  const path = join(directory, name);
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ProductError(
      'INVALID_CONFIG',
      `there is no kubeconfig and no service account: ${path} cannot be read; give a kubeconfig, or run in a pod that mounts its service account token`,
      { cause: error },
    );
  }
}

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
