import { stat } from 'node:fs/promises';
import type { ErrorCode } from '../../errors/error-table.ts';
import { ProductError } from '../../errors/product-error.ts';

/** What is wanted of a cluster, by its code where it is refused. */
const wishes = {
  start: ['CLUSTER_START', 'start it'],
  look: ['CLUSTER_START', 'look at it'],
  stop: ['CLUSTER_STOP', 'stop it'],
  remove: ['CLUSTER_STOP', 'destroy it'],
} as const satisfies Record<string, readonly [ErrorCode, string]>;

/**
 * Rejects with CLUSTER_START or CLUSTER_STOP when a cluster's directory is there and another user's: to be called before anything
 * is written. Root is such a user, too: what it writes in the directory would keep the owner out. One that others can write is refused as
 * well: they could put another process's id, or another journal, in place of the cluster's.
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
    // a folder above it lets nobody else in
    if (why === 'EACCES') throw new ProductError(code, sentence, { cause: error });
    throw error;
  }
  throw new ProductError(code, sentence);
}
