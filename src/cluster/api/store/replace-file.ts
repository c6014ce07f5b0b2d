import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Writes a file (0600) so that a crash, power loss included, leaves the old content or the new, never a mixture.
 * Idempotent. Throws what the file system says; the old content is then still there.
 */
export function replaceFile(file: string, content: Uint8Array): void {
  const temporary = `${file}.new`;
  rmSync(temporary, { force: true });
  const descriptor = openSync(temporary, 'wx', 0o600);
  try {
    let written = 0;
    while (written < content.length) written += writeSync(descriptor, content, written);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
  const directory = openSync(dirname(file), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
