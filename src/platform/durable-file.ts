import {
  closeSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
  lstatSync,
  readdirSync,
} from 'node:fs';
import { dirname, basename, join } from 'node:path';
import { withPath } from './write-file.ts';
import { randomBytes } from 'node:crypto';

/**
 * Writes a file (default mode 0600) so that after a crash, also after a power loss, it has either the old or
 * the new content, never a mixture. Replaces a link in its place instead of following it. Throws the error of
 * the file system; the old content then still exists. Must not be called concurrently for the same path.
 */
export function replaceFile(path: string, content: string | Uint8Array, mode = 0o600): void {
  removeTemporaryFiles(path);
  const draft = temporaryPath(path);
  try {
    writeNew(draft, content, mode);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

/** Creates a file and syncs it to the disk. Throws EEXIST if anything has that name, a link included. */
export function writeNew(path: string, content: string | Uint8Array, mode = 0o600): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const descriptor = openSync(path, 'wx', mode);
  try {
    let written = 0;
    while (written < bytes.length) written += writeSync(descriptor, bytes, written);
    fsyncSync(descriptor);
  } catch (error) {
    throw withPath(path, error);
  } finally {
    closeSync(descriptor);
  }
}

/** Syncs the entries of a folder to the disk. */
export function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Returns the path for new content of that file, which is written there first and then renamed. Other users
 * cannot guess the name. Open it with `wx`, which does not follow links.
 */
export function temporaryPath(path: string): string {
  return `${path}.${randomBytes(8).toString('hex')}.new`;
}

/**
 * Removes the temporary files of that file that killed runs left behind, if this user owns them. Must not run
 * while another run writes the same file.
 */
export function removeTemporaryFiles(path: string): void {
  const [directory, prefix] = [dirname(path), `${basename(path)}.`];
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(prefix) || !/^[0-9a-f]{16}\.new$/.test(name.slice(prefix.length))) continue;
    const draft = join(directory, name);
    const found = lstatSync(draft, { throwIfNoEntry: false });
    if (found?.isFile() === true && found.uid === process.geteuid?.()) rmSync(draft, { force: true });
  }
}
