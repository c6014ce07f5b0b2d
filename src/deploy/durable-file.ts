import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import { removeTemporaryFiles, replaceFile, syncDirectory } from '../platform/durable-file.ts';

/**
 * Calls replaceFile (default mode 0600). Rejects with FILE_NOT_WRITABLE if the system fails the write,
 * for example because the disk is full.
 */
export async function writeDurably(path: string, text: string, mode = 0o600): Promise<void> {
  try {
    replaceFile(path, text, mode);
  } catch (error) {
    throw notWritable(path, error);
  }
}

/** Returns the FILE_NOT_WRITABLE error for a system error. Returns any other error unchanged. */
export function notWritable(path: string, error: unknown): unknown {
  if (!(error instanceof Error && 'syscall' in error)) return error;
  const message = `File '${path}' cannot be written and was not changed; fix this, then run the same command again`;
  return new ProductError('FILE_NOT_WRITABLE', message, { cause: error });
}

/** Removes the file durably, and drafts of it that killed runs left. Succeeds if the file does not exist. */
export async function removeDurably(path: string): Promise<void> {
  await rm(path, { force: true });
  removeTemporaryFiles(path);
  syncDirectory(dirname(path));
}

/** Creates a directory that only its owner can enter. An existing directory keeps its mode. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}
