import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import { secretStrings, urlPasswords } from '../errors/redact/secret-strings.ts';
import { issuedCredentials, type Access } from '../kubernetes/access.ts';
import { secretsOfKubeconfig } from '../kubernetes/kubeconfig-secrets.ts';
import { loadAccess } from '../kubernetes/load-access.ts';
import { openTransport } from '../kubernetes/open-transport.ts';
import { RestApi } from '../kubernetes/rest-api.ts';

/** The embedded cluster's kubeconfig: an administrator's key is in it. */
export function kubeconfigPath(clusterDirectory: string): string {
  return join(clusterDirectory, 'kubeconfig');
}

export interface ConnectOptions {
  /** For proxies and exec plugins; absent: empty, as for the embedded cluster, which needs neither. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Absent: the kubeconfig's current one. */
  readonly context?: string | undefined;
  /** Told what is secret in the file before it is used, and what requests were sent with before a result or an error is there. */
  readonly onSecrets: (secrets: readonly string[]) => void;
}

/**
 * Runs `action` with a connection to the API that a kubeconfig file names, and closes the connection. The file is read as kubectl
 * does: what it names by a relative path is beside it.
 */
export async function withKubernetes<T>(
  kubeconfig: string,
  action: (api: RestApi, access: Access) => Promise<T>,
  { environment, context, onSecrets }: ConnectOptions,
): Promise<T> {
  const text = await readKubeconfig(kubeconfig);
  onSecrets(secretStrings(await secretsOfKubeconfig(text)));
  const access = await loadAccess(text, { directory: dirname(resolve(kubeconfig)), environment, context });
  onSecrets([...secretStrings({ key: access.key }), ...urlPasswords(access.proxy)]);
  const transport = await openTransport(access);
  try {
    return await action(new RestApi({ transport }), access);
  } finally {
    transport.close();
    onSecrets(secretStrings(await issuedCredentials(access)));
  }
}

async function readKubeconfig(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new ProductError('FILE_NOT_FOUND', `Kubeconfig '${path}' cannot be read`, { cause: error });
  }
}
