import { join } from 'node:path';
import { takeFileLock } from '../../platform/file-lock.ts';
import type { PathSegment } from '../../platform/path-segment.ts';
import type { Clock } from '../clock.ts';
import type { Directories } from '../directories.ts';

const pollMilliseconds = 50;

/**
 * Does something while no other command of bpm that takes the lock of this name does. The kernel keeps it.
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
