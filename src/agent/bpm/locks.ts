import type { Stats } from 'node:fs';
import { parsePathSegment, type PathSegment } from '../../platform/path-segment.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Directories } from '../directories.ts';
import { DirectoryHandle } from '../file/directory-handle.ts';
import { join } from 'node:path';
import { takeFileLock } from '../../platform/file-lock.ts';

const safeMode = 0o755;
// The lock of a process has a dot in its name, so this name cannot collide with one.
const lockName = 'folders';

/**
 * Opens sys/run/bpm/JOB and creates it if it does not exist. Only root can write there, because bpm kills the
 * processes that its pid files name. Removes files that vcap could have created while sys/run/bpm was an
 * ordinary directory of a job.
 */
export async function openPidDirectory(
  job: PathSegment,
  ports: { readonly directories: Directories; readonly clock: Clock },
): Promise<DirectoryHandle> {
  await using run = await DirectoryHandle.open(ports.directories.run);
  await run.makeDirectory('bpm', 0o700);
  if (!isSafe(await run.stat('bpm'))) await takeOwnership(run, ports);
  await using bpm = await run.directory('bpm');
  await bpm.makeDirectory(job, 0o700);
  return await bpm.directory(job);
}

async function takeOwnership(
  run: DirectoryHandle,
  ports: { readonly directories: Directories; readonly clock: Clock },
): Promise<void> {
  const name = parsePathSegment(lockName);
  if (name === undefined) throw new Error(`${lockName} is not a valid file name`);
  await withFileLock(name, ports, async () => {
    if (isSafe(await run.stat('bpm'))) return;
    await using bpm = await run.directory('bpm');
    // The mode differs from `safeMode` until the directory is empty. After a crash the next command begins
    // again.
    await bpm.chownToRoot(undefined, 0o700);
    for (const entry of await bpm.names()) await bpm.remove(entry);
    await bpm.chownToRoot(undefined, safeMode);
  });
}

const isSafe = ({ uid, mode }: Stats): boolean => uid === 0 && (mode & 0o7777) === safeMode;

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
