import { stat } from 'node:fs/promises';
import { errorCode } from '../file/error-code.ts';
import { readFileIfPresent } from '../file/durable-file.ts';
import type { LiveProcess, ProcessIdentity, ProcessTable } from '../process/process-table.ts';

// a pidfile is written after its process began; this covers the clock's granularity
const slackMilliseconds = 2000;

/**
 * The living process that a pidfile means, or undefined. A number used again by another process does not count:
 * it must be the process `known` from before, or one that began before the file was written.
 */
export async function processOfPidFile(
  path: string,
  table: ProcessTable,
  known: ProcessIdentity | undefined,
): Promise<LiveProcess | undefined> {
  const pid = parsePid(await readFileIfPresent(path));
  const live = pid === undefined ? undefined : await table.find(pid);
  if (live === undefined) return undefined;
  if (known?.pid === live.pid) return known.startTicks === live.startTicks ? live : undefined;
  const written = await modifiedAt(path);
  return written !== undefined && live.startedAt <= written + slackMilliseconds ? live : undefined;
}

function parsePid(text: string | undefined): number | undefined {
  const match = /^\s*([1-9][0-9]{0,9})\s*$/.exec(text ?? '');
  return match === null ? undefined : Number(match[1]);
}

async function modifiedAt(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
