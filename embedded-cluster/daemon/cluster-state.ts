import { join, dirname } from 'node:path';
import { findProcess, type ProcessRecord } from './process-record.ts';
import { readFile, stat } from 'node:fs/promises';
import { isProductError, ProductError } from '../../src/errors/product-error.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openTransport } from '../../src/kubernetes/client/open-transport.ts';
import type { ErrorCode } from '../../src/errors/error-table.ts';

export type DaemonStatus =
  | { readonly state: 'stopped' }
  | { readonly state: 'running' | 'not ready'; readonly process: ProcessRecord; readonly kubeconfig: string };

/**
 * Returns whether the cluster of this directory runs and whether its API responds. Rejects if it belongs to
 * another user.
 */
export async function daemonStatus(directory: string): Promise<DaemonStatus> {
  await checkOwner(directory, 'look');
  const process = await findProcess(directory);
  if (process === undefined) {
    return { state: 'stopped' };
  }
  const ready = await isReady(directory);
  return { state: ready ? 'running' : 'not ready', process, kubeconfig: join(directory, 'kubeconfig') };
}

/**
 * The cluster's main module as scripts/build.ts writes it. Its scripts are in the same directory.
 */
export const builtCluster = (root: string): string => join(root, 'dist', 'cluster', 'main.mjs');

/** The built embedded-cluster/node/prepare-host-main.ts that belongs to this main module of the cluster. */
export const besideCluster = (main: string): string => join(dirname(main), 'prepare.mjs');

/** Returns whether the cluster's API reports that it is ready. The request is that of any client. */
export async function isReady(directory: string): Promise<boolean> {
  let kubeconfig: string;
  try {
    kubeconfig = await readFile(join(directory, 'kubeconfig'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return false;
    }
    throw error;
  }
  const transport = await openTransport(await loadAccess(kubeconfig), { timeoutMs: 2_000 });
  try {
    return (await transport.request({ method: 'GET', path: '/readyz' })).status === 200;
  } catch (error) {
    if (isProductError(error, 'KUBERNETES_UNREACHABLE')) {
      return false;
    }
    throw error;
  } finally {
    transport.close();
  }
}

/** The operations on a cluster: the error code if the operation is rejected, and the verb for the message. */
const wishes = {
  start: ['CLUSTER_START', 'start it'],
  look: ['CLUSTER_START', 'look at it'],
  stop: ['CLUSTER_STOP', 'stop it'],
  remove: ['CLUSTER_STOP', 'destroy it'],
} as const satisfies Record<string, readonly [ErrorCode, string]>;

/**
 * Rejects with CLUSTER_START or CLUSTER_STOP if the cluster's directory exists and belongs to another user.
 * Call this before anything is written. Root is another user, too: files that root writes in the directory
 * would keep the owner out. A directory that other users can write to is rejected as well: they could replace
 * the cluster's process id or its journal.
 */
export async function checkOwner(directory: string, wish: keyof typeof wishes): Promise<void> {
  const [code, doIt] = wishes[wish];
  const sentence = `The cluster in '${directory}' belongs to another user; ${doIt} as that user`;
  try {
    const { uid, mode } = await stat(directory);
    if (uid === process.getuid?.()) {
      if ((mode & 0o022) === 0) return;
      throw new ProductError(
        code,
        `The cluster in '${directory}' can be changed by other users; run: chmod go-w '${directory}'`,
      );
    }
  } catch (error) {
    const { code: why } = error as NodeJS.ErrnoException;
    if (why === 'ENOENT' || why === 'ENOTDIR') return;
    // A parent directory is not accessible.
    if (why === 'EACCES') throw new ProductError(code, sentence, { cause: error });
    throw error;
  }
  throw new ProductError(code, sentence);
}
