import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { temporaryPath, removeTemporaryFiles } from './draft.ts';
import { withPath } from './write-file.ts';

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
