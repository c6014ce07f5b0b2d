import { stat } from 'node:fs/promises';
import type { ErrorCode } from '../../src/errors/error-table.ts';
import { ProductError } from '../../src/errors/product-error.ts';

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
