import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isSshUser } from '../../bosh/ssh-user.ts';
import { isObject } from '../../platform/json.ts';
import { takeFileLock, type FileLock } from '../../platform/file-lock.ts';
import { ensurePrivateDirectory } from '../../platform/private-directory.ts';
import { pathSegment } from '../../platform/path-segment.ts';
import { readOwnFile } from '../../platform/read-file.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { writeNew } from '../../platform/durable-file.ts';

/**
 * The directory of a session on the operator's machine, named like the account. It exists until the account
 * is removed.
 */
export interface SessionDirectory {
  readonly path: string;
  /** Removes the directory. Another command may use its name afterwards. */
  remove(): Promise<void>;
  /** Keeps the note, by which the next command finds the account, and removes the key. */
  keepForRetry(): Promise<void>;
}

const noteName = 'note.json';

/**
 * Creates the directory of a session. Its note names the VM of the account and is written before the account
 * is created.
 */
export async function makeSessionDirectory(
  sessions: string,
  user: string,
  vmCid: string,
): Promise<SessionDirectory> {
  const path = join(await ensurePrivateDirectory(sessions), user);
  const lock = await takeLock(path);
  if (lock === undefined) throw new Error(`another session has the random name '${user}'`);
  writeNew(join(path, noteName), JSON.stringify({ vm: vmCid }));
  return openSession(path, lock);
}

/**
 * Returns the directories that killed sessions with that VM left, with the names of accounts that may still
 * exist.
 */
export async function abandonedSessions(
  sessions: string,
  vmCid: string,
): Promise<readonly { readonly user: string; readonly directory: SessionDirectory }[]> {
  const abandoned: { user: string; directory: SessionDirectory }[] = [];
  const root = await ensurePrivateDirectory(sessions);
  for (const user of (await readdir(root)).filter(isSshUser)) {
    const path = join(root, user);
    const lock = await takeLock(path);
    // This session is still running.
    if (lock === undefined) continue;
    const directory = openSession(path, lock);
    const vm = await readNote(path);
    if (vm === vmCid) abandoned.push({ user, directory });
    // The session was killed before it created the account.
    else if (vm === undefined) await directory.remove();
    else lock.release();
  }
  return abandoned;
}

async function readNote(path: string): Promise<string | undefined> {
  const text = await readOwnFile(join(path, noteName));
  try {
    const note: unknown = JSON.parse(text ?? '');
    return isObject(note) && typeof note['vm'] === 'string' ? note['vm'] : undefined;
  } catch (error) {
    // The record is truncated, for example after a power failure.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function takeLock(path: string): Promise<FileLock | undefined> {
  return takeFileLock(path, pathSegment('lock'));
}

function openSession(path: string, lock: FileLock): SessionDirectory {
  return {
    path,
    remove: async () => {
      await removeTree(path, { within: dirname(path) });
      lock.release();
    },
    keepForRetry: async () => {
      for (const name of ['key', 'key.pub', 'known_hosts']) await rm(join(path, name), { force: true });
      lock.release();
    },
  };
}
