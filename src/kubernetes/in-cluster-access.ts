import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import type { Access } from './access.ts';

/** Where a pod finds its service account (kubernetes: plugin/pkg/admission/serviceaccount). */
export const serviceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface InClusterOptions {
  /** The process's environment: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are read. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly directory?: string;
}

/** Access as the service account of the pod that this process runs in (client-go rest.InClusterConfig). */
export function inClusterAccess(options: InClusterOptions): Access {
  const directory = options.directory ?? serviceAccountDirectory;
  const host = options.environment['KUBERNETES_SERVICE_HOST'];
  const port = options.environment['KUBERNETES_SERVICE_PORT'];
  if (host === undefined || host === '' || port === undefined || port === '') {
    throw new ProductError(
      'INVALID_CONFIG',
      'KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set, so this process is in no pod; give a kubeconfig',
    );
  }
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ca: readMounted(directory, 'ca.crt'),
    tokenFile: join(directory, 'token'),
    namespace: readMounted(directory, 'namespace').trim(),
  };
}

function readMounted(directory: string, name: string): string {
  const path = join(directory, name);
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ProductError(
      'INVALID_CONFIG',
      `${path} cannot be read; does the pod mount its service account token?`,
      { cause: error },
    );
  }
}
