import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import { secretStrings, urlPasswords } from '../errors/redact/secret-strings.ts';
import { usedCredentials, type Access } from '../kubernetes/access.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import { secretsOfKubeconfig } from '../kubernetes/kubeconfig-secrets.ts';
import { loadAccess } from '../kubernetes/load-access.ts';
import { openTransport } from '../kubernetes/open-transport.ts';
import { RestApi } from '../kubernetes/rest-api.ts';

/** The embedded cluster's kubeconfig: an administrator's key is in it. */
export function kubeconfigPath(clusterDirectory: string): string {
  return join(clusterDirectory, 'kubeconfig');
}

/**
 * Runs `action` with a connection to the API that a kubeconfig file names, and closes the connection. `onSecrets` is told what is
 * secret in the file before it is used, and what requests were sent with before the result or an error is there to be printed.
 */
export async function withKubernetes<T>(
  kubeconfig: string,
  action: (api: KubernetesApi, access: Access) => Promise<T>,
  onSecrets: (secrets: readonly string[]) => void,
): Promise<T> {
  const text = await readKubeconfig(kubeconfig);
  onSecrets(secretStrings(await secretsOfKubeconfig(text)));
  const access = await loadAccess(text);
  onSecrets([...secretStrings({ key: access.key }), ...urlPasswords(access.proxy)]);
  const transport = await openTransport(access);
  try {
    return await action(new RestApi({ transport }), access);
  } finally {
    transport.close();
    onSecrets(secretStrings(await usedCredentials(access)));
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
