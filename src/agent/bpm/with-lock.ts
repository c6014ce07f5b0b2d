import { join } from 'node:path';
import { takeFileLock } from '../../platform/file-lock.ts';
import type { PathSegment } from '../../platform/path-segment.ts';
import type { Clock } from '../clock.ts';
import type { Directories } from '../directories.ts';

const pollMilliseconds = 50;

/**
 * Runs `work` while no other bpm command holds the lock of this name. The kernel releases the lock if the
 * process dies.
 */
export async function withFileLock<T>(
  name: PathSegment,
  { directories, clock }: { readonly directories: Directories; readonly clock: Clock },
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    const lock = await takeFileLock(join(directories.monit, 'bpm'), name);
    if (lock === undefined) {
      await clock.sleep(pollMilliseconds);
      continue;
    }
    try {
      return await work();
    } finally {
      lock.release();
    }
  }
}
