import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import type { Access } from './access.ts';

/** Where a pod finds its service account (kubernetes: plugin/pkg/admission/serviceaccount). */
const serviceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Written by the entry of a VM's container (src/cpi/vm/entry-script.ts): host and port, a line each. */
const apiServerFile = '/etc/bosh-kubernetes/api-server';

export interface InClusterOptions {
  /** The process's environment: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are read. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** https URL; absent: what the environment says, else the file, else the name that the cluster's DNS has for it. */
  readonly server?: string | undefined;
  readonly directory?: string;
  readonly apiServerFile?: string;
}

/**
 * Access as the service account of the pod that this process runs in (client-go rest.InClusterConfig). The token is read
 * again for each request, because it rotates. A director takes out of the environment who the server is, and a VM whose
 * network has name servers of its own cannot ask the cluster's: so the VM's entry writes it down.
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
