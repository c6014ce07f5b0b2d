import type { Stats } from 'node:fs';
import { parsePathSegment } from '../../platform/path-segment.ts';
import type { PathSegment } from '../../platform/path-segment.ts';
import type { Clock } from '../clock.ts';
import type { Directories } from '../directories.ts';
import { DirectoryHandle } from '../file/directory-handle.ts';
import { withFileLock } from './with-lock.ts';

const safeMode = 0o755;
// the locks of processes have a point in their names
const lockName = 'folders';

/**
 * Opens sys/run/bpm/JOB, made where it is not there. Only root can write there, so that its pid files may
 * name any process; what vcap can have put there, while that folder was one as the agent makes for every job,
 * is removed.
 */
export async function openPidFolder(
  job: PathSegment,
  ports: { readonly directories: Directories; readonly clock: Clock },
): Promise<DirectoryHandle> {
  await using run = await DirectoryHandle.open(ports.directories.run);
  await run.makeDirectory('bpm', 0o700);
  if (!isSafe(await run.kindOf('bpm'))) await takeOwnership(run, ports);
  await using bpm = await run.directory('bpm');
  await bpm.makeDirectory(job, 0o700);
  return await bpm.directory(job);
}

async function takeOwnership(
  run: DirectoryHandle,
  ports: { readonly directories: Directories; readonly clock: Clock },
): Promise<void> {
  const name = parsePathSegment(lockName);
  if (name === undefined) throw new Error(`${lockName} is no name of a file`);
  await withFileLock(name, ports, async () => {
    if (isSafe(await run.kindOf('bpm'))) return;
    await using bpm = await run.directory('bpm');
    // another mode until it is empty: killed before, the next one begins again
    await bpm.giveToRoot(undefined, 0o700);
    for (const entry of await bpm.names()) await bpm.remove(entry);
    await bpm.giveToRoot(undefined, safeMode);
  });
}

const isSafe = ({ uid, mode }: Stats): boolean => uid === 0 && (mode & 0o7777) === safeMode;
