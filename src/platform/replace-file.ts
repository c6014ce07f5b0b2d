import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { temporaryPath, removeTemporaryFiles } from './draft.ts';
import { withPath } from './write-file.ts';

/**
 * Writes a file (0600 unless asked otherwise) so that a crash, power loss included, leaves the old content or the new, never a
 * mixture. A link in its place is replaced, not followed. Throws what the file system says; the old content is then still there.
 * Not for two writers of the same path at a time.
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

/** Writes a file that is not there yet and brings it to the disk; EEXIST where anything has that name, a link included. */
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

/** Brings to the disk which files a folder has. */
export function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
