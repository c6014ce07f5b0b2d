import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import { secretStrings, urlPasswords } from '../errors/redact/secret-strings.ts';
import { issuedCredentials, type Access } from '../kubernetes/access/access.ts';
import { secretsOfKubeconfig } from '../kubernetes/access/kubeconfig-secrets.ts';
import { loadAccess } from '../kubernetes/access/kubeconfig-access.ts';
import { openTransport } from '../kubernetes/client/open-transport.ts';
import { RestApi } from '../kubernetes/client/rest-api.ts';

/** Returns the path of the embedded cluster's kubeconfig, which contains an administrator's key. */
export function kubeconfigPath(clusterDirectory: string): string {
  return join(clusterDirectory, 'kubeconfig');
}

export interface ConnectOptions {
  /**
   * Environment for proxies and exec plugins. The default is empty, as for the embedded cluster, which needs
   * neither.
   */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** The default is the kubeconfig's current context. */
  readonly context?: string | undefined;
  /**
   * Called with the secrets of the file before it is used, and with the credentials of requests before their
   * result or error is returned.
   */
  readonly onSecrets: (secrets: readonly string[]) => void;
}

/**
 * Runs `action` with a connection to the API server of a kubeconfig file, and closes the connection. As in
 * kubectl, relative paths in the file are relative to its directory.
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
