import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve, delimiter } from 'node:path';
import type { ClusterIdentity } from '../../deploy/state/recorded-cluster.ts';
import { ProductError } from '../../errors/product-error.ts';
import { secretStrings, urlPasswords } from '../../errors/redact/secret-strings.ts';
import { issuedCredentials, type Access } from '../../kubernetes/access/access.ts';
import { type KubernetesApi, ifAllowed } from '../../kubernetes/api.ts';
import { secretsOfKubeconfig } from '../../kubernetes/access/kubeconfig-secrets.ts';
import { loadAccess } from '../../kubernetes/access/kubeconfig-access.ts';
import { openTransport } from '../../kubernetes/client/open-transport.ts';
import { namespaces } from '../../kubernetes/resources.ts';
import { RestApi } from '../../kubernetes/client/rest-api.ts';

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
   * Ends all requests; the result is then a rejection with the signal's reason. Only for an action that does
   * not remove anything after an interrupt.
   */
  readonly signal?: AbortSignal | undefined;
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
  { environment, context, signal, onSecrets }: ConnectOptions,
): Promise<T> {
  const text = await readKubeconfig(kubeconfig);
  onSecrets(secretStrings(await secretsOfKubeconfig(text)));
  const access = await loadAccess(text, { directory: dirname(resolve(kubeconfig)), environment, context });
  onSecrets([...secretStrings({ key: access.key }), ...urlPasswords(access.proxy)]);
  const transport = await openTransport(access);
  const close = (): void => transport.close();
  if (signal?.aborted === true) close();
  signal?.addEventListener('abort', close);
  try {
    return await action(new RestApi({ transport }), access);
  } finally {
    signal?.removeEventListener('abort', close);
    close();
    onSecrets(secretStrings(await issuedCredentials(access)));
    // The action may report the aborted requests as its result.
    signal?.throwIfAborted();
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

export interface ChosenKubeconfig {
  readonly path: string;
  readonly isEmbedded: boolean;
}

/**
 * Returns the kubeconfig of a command that reads a cluster: the named file, otherwise that of the embedded
 * cluster if it exists, otherwise the file of `$KUBECONFIG`. Throws INVALID_ARGUMENT if `$KUBECONFIG` names
 * several files, because they are not merged.
 */
export function chooseKubeconfig(
  named: string | undefined,
  clusterDirectory: string,
  environment: Readonly<Record<string, string | undefined>>,
): ChosenKubeconfig {
  if (named !== undefined) return { path: named, isEmbedded: false };
  const embedded = { path: kubeconfigPath(clusterDirectory), isEmbedded: true };
  if (existsSync(embedded.path)) return embedded;
  const path = environmentKubeconfig(environment);
  return path === undefined ? embedded : { path, isEmbedded: false };
}

/**
 * Returns the file of `$KUBECONFIG`, or undefined if it names none. Throws INVALID_ARGUMENT if it names
 * several.
 */
export function environmentKubeconfig(
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const files = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  // Like kubectl, ignore files that do not exist.
  const present = files.filter((file) => existsSync(file));
  if (present.length > 1)
    throw new ProductError(
      'INVALID_ARGUMENT',
      'KUBECONFIG names several files, which are not merged: name one with --kubeconfig, for example the output of kubectl config view --raw',
    );
  return present[0] ?? files[0];
}

/** Identifies the cluster of a kubeconfig without a request to it. */
export function identityOfAccess({ server, ca }: Access, kubeconfig: string): ClusterIdentity {
  const authority = ca === undefined ? {} : { ca_sha256: createHash('sha256').update(ca).digest('hex') };
  return { server, ...authority, kubeconfig };
}

/**
 * Identifies the cluster by requests to it. The uid is left out if the role may not read the namespace
 * kube-system.
 */
export async function identifyCluster(
  api: Pick<KubernetesApi, 'get'>,
  access: Access,
  kubeconfig: string,
): Promise<ClusterIdentity> {
  const identity = identityOfAccess(access, kubeconfig);
  const namespace = await ifAllowed(api.get({ resource: namespaces, name: 'kube-system' }));
  return namespace === undefined ? identity : { uid: namespace.metadata.uid, ...identity };
}
