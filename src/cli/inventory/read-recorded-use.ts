import { stat } from 'node:fs/promises';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { ProductError } from '../../errors/product-error.ts';
import { type DirectorList, parseDirectorList } from '../../inventory/director-list.ts';
import type { RecordedState } from '../../inventory/recorded-use.ts';
import type { Clock } from '../../platform/clock.ts';
import { readTextFile } from '../../platform/read-text-file.ts';

/** Reads a state file with its pending file. Rejects with FILE_NOT_FOUND if there is none. */
export async function readRecordedState(path: string, clock: Clock): Promise<RecordedState> {
  const files = new DeploymentFiles(path);
  const readAt = clock.now();
  const [state, known] = [await files.readState(), await files.readKnownResources()];
  if (state === undefined || known === undefined)
    throw new ProductError(
      'FILE_NOT_FOUND',
      `There is no deployment state file '${path}'; nothing was deleted`,
    );
  const { vmCid, pendingAgentId, diskCids, unconfirmedDisks } = known;
  const { director_id: directorId } = state;
  return { path, directorId, vmCid, pendingAgentId, diskCids, pendingDisks: unconfirmedDisks.length, readAt };
}

/**
 * Reads an output of the bosh CLI, which has no time in it: the time of its last change counts. Rejects with
 * LIST_INVALID and FILE_NOT_FOUND.
 */
export async function readDirectorList(path: string, clock: Clock): Promise<DirectorList> {
  try {
    // The time is read first: a file that is written again in between is newer than that.
    const { mtimeMs } = await stat(path);
    return parseDirectorList(readTextFile(path), path, Math.min(mtimeMs, clock.now()));
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new ProductError('FILE_NOT_FOUND', `'${path}' cannot be read; nothing was deleted`, {
      cause: error,
    });
  }
}
