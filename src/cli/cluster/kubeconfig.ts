import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve, delimiter } from 'node:path';
import { checkOwner } from '../../../embedded-cluster/index.ts';
import type { ClusterIdentity } from '../../deploy/state/recorded-cluster.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { secretStrings, urlPasswords } from '../../errors/redact/secret-strings.ts';
import { oneLine } from '../../errors/text.ts';
import { issuedCredentials, type Access } from '../../kubernetes/access/access.ts';
import { type KubernetesApi, ifAllowed } from '../../kubernetes/api.ts';
import { secretsOfKubeconfig } from '../../kubernetes/access/kubeconfig-secrets.ts';
import { currentContextOf, loadAccess } from '../../kubernetes/access/kubeconfig-access.ts';
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
  const directory = dirname(resolve(kubeconfig));
  const access = await loadAccess(text, { directory, environment, context }).catch((error: unknown) => {
    throw isProductError(error, 'INVALID_CONFIG') ? withFile(error, kubeconfig) : error;
  });
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

function withFile({ message, cause }: ProductError, kubeconfig: string): ProductError {
  return new ProductError(
    'INVALID_CONFIG',
    `Kubeconfig '${kubeconfig}': ${message.replace(/^kubeconfig: /u, '')}`,
    { cause },
  );
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
 * cluster if it exists, otherwise the file of `$KUBECONFIG`. Rejects with INVALID_ARGUMENT if `$KUBECONFIG`
 * names several files, because they are not merged, and with CLUSTER_START if the embedded cluster is not
 * this user's.
 */
export async function chooseKubeconfig(
  named: string | undefined,
  clusterDirectory: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ChosenKubeconfig> {
  if (named !== undefined) return { path: named, isEmbedded: false };
  if (existsSync(kubeconfigPath(clusterDirectory))) return embeddedKubeconfig(clusterDirectory);
  const path = environmentKubeconfig(environment);
  return path === undefined ? embeddedKubeconfig(clusterDirectory) : { path, isEmbedded: false };
}

/**
 * Returns the kubeconfig of the embedded cluster, which may not exist. Rejects with CLUSTER_START if another
 * user owns it: a kubeconfig can name a program that every command with it runs.
 */
export async function embeddedKubeconfig(clusterDirectory: string): Promise<ChosenKubeconfig> {
  await checkOwner(clusterDirectory, 'look');
  return { path: kubeconfigPath(clusterDirectory), isEmbedded: true };
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

/** Returns a line that tells which cluster a command has chosen. */
export async function describeChoice(
  { path, isEmbedded }: ChosenKubeconfig,
  { server }: Access,
  context: string | undefined,
): Promise<string> {
  const name = context ?? (await currentContextOf(await readKubeconfig(path))) ?? '';
  return oneLine(
    `${isEmbedded ? 'Embedded cluster' : 'Cluster'} ${server}, by the context '${name}' of the kubeconfig '${path}'`,
  );
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
